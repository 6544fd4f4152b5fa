"""RPC, how BREC tests trained models (Wang & Zhang 2024): reliable paired comparisons.

    copies       A_1 B_1 A_2 B_2 ...: 32 relabelled copies of both graphs of a pair
    training     a new model gives each copy 16 numbers; Adam lowers max(0, cos(a_c, b_c))
    separation   d_c = a_c - b_c,   T2 = mean(d)' pinv(cov(d)) mean(d)
    reliability  the same of 64 relabelled copies of A, which must not differ

T2 compares the gap between the two graphs with the rounding noise between copies of one graph. A
pair is distinguished if T2 exceeds 72.34 and is not the T2 of reliability, which must stay below
72.34: a model that tells a graph from itself proves nothing.

The formula has a blind spot: if all differences d_c are the same bits, their covariance is 0 and T2
is 0, however large the gap. Such a pair is distinguished here and marked `constant`; the verdict
without this is `PairResult.by_formula`.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn.errors import InputError
from i2gnn.expressiveness.relabel import relabelled_copies
from i2gnn.expressiveness.separation import scale_weights
from i2gnn.expressiveness.subjects import Subject, embed, outputs
from i2gnn.graphs.store import GraphStore
from i2gnn.memory import available_memory, parse_size
from i2gnn.models.cost import working_set
from i2gnn.models.network import IdentifierGNN
from i2gnn.subgraphs import count_subgraphs

__all__ = ["Comparison", "PairResult", "RPCSettings", "compare_copies", "compare_pair"]

CLOSE = 1e-6
"""Two T2 that differ by less, absolutely or in 10^5 parts, are the same number."""

Blocks = Sequence[Any]
"""Graphs as a model takes them, in blocks that fit into memory."""


@dataclass(frozen=True, kw_only=True)
class RPCSettings:
    """The protocol's settings; the defaults are those published.

    Attributes:
        copies: Relabelled copies of each graph.
        out_channels: Numbers that the model gives each graph.
        gain: What the weight matrices of a new model are multiplied with. Differences between
            graphs fade from layer to layer if weights are small.
        epochs: Passes over the copies at most.
        batch_size: Graphs in a batch, copies of both graphs in turn.
        lr: Learning rate of Adam.
        weight_decay: Its L2 penalty.
        loss_threshold: Training ends with the epoch whose mean loss is below it.
        threshold: What T2 must exceed.
        precision: "float32", or "float64", whose noise is far below the smallest gaps.
        memory_budget: Such as "2GB": batches are cut into blocks that fit, whose gradients add up
            to the same; by default half of the free memory.
        seed: Of copies and weights.
    """

    copies: int = 32
    out_channels: int = 16
    gain: float = 1.0
    epochs: int = 20
    batch_size: int = 16
    lr: float = 1e-4
    weight_decay: float = 1e-4
    loss_threshold: float = 0.2
    threshold: float = 72.34
    precision: Literal["float32", "float64"] = "float32"
    memory_budget: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch_size < 2 or self.batch_size % 2:
            raise InputError(f"batch_size is {self.batch_size}; expected an even number of graphs")
        if self.copies < 2:
            raise InputError(f"copies is {self.copies}; expected at least 2")

    @property
    def dtype(self) -> torch.dtype:
        """The precision as PyTorch names it."""
        return torch.float64 if self.precision == "float64" else torch.float32


class Comparison(NamedTuple):
    """How copies of two graphs compare.

    Attributes:
        t2: By the formula.
        constant: Whether all differences are the same bits and not zero.
    """

    t2: float
    constant: bool


@dataclass(frozen=True, kw_only=True)
class PairResult:
    """The verdict on a pair and what it rests on.

    Attributes:
        distinguished: Whether the model tells the graphs apart.
        by_formula: The same where a constant difference counts as a tie.
        reliable: Whether copies of one graph stay together.
        t2: Of the pair.
        t2_reliability: Of copies of its first graph.
        constant: Whether all differences between the copies are the same bits and not zero.
        loss: Mean loss of the last epoch.
        epochs: How many were run.
        seconds: Time in all.
    """

    distinguished: bool
    by_formula: bool
    reliable: bool
    t2: float
    t2_reliability: float
    constant: bool
    loss: float
    epochs: int
    seconds: float


def compare_copies(first: Tensor, second: Tensor) -> Comparison:
    """Hotelling's T2 of the paired differences, without its factor n, as BREC takes it.

    Shapes:
        first, second: [C, D], what a model gave to C copies of two graphs.

    Example:
        >>> compare_copies(torch.tensor([[5.0], [6.0], [7.0]]), torch.ones(3, 1))
        Comparison(t2=25.0, constant=False)
        >>> compare_copies(torch.full((3, 1), 5.0), torch.ones(3, 1))
        Comparison(t2=0.0, constant=True)
    """
    difference = first - second
    if not bool(difference.isfinite().all()):
        raise InputError("the model returned numbers that are not finite; lower its learning rate")
    if bool((difference == difference[0]).all()):
        return Comparison(0.0, bool(difference.any()))
    mean = difference.mean(0)
    covariance = torch.cov(difference.t()).reshape(len(mean), len(mean))
    t2 = mean @ torch.linalg.pinv(covariance) @ mean
    return Comparison(float(t2), False)


def compare_pair(
    subject: Subject,
    pair: GraphStore,
    settings: RPCSettings,
    *,
    device: torch.device | str = "cpu",
) -> PairResult:
    """Trains a new model on copies of two graphs and tests whether it tells them apart.

    Args:
        subject: What to train.
        pair: A store of two graphs.
        settings: Of training and test.
        device: Where to train.
    """
    if len(pair) != 2:
        raise InputError(f"a pair has two graphs, got {len(pair)}")
    started = time.perf_counter()
    model = subject.build(
        settings.seed,
        pair,
        out_channels=settings.out_channels,
        dtype=settings.dtype,
        device=device,
    )
    scale_weights(model, settings.gain)
    block = graphs_per_block(model, pair, settings)
    copies = relabelled_copies(pair, settings.copies, settings.seed)
    batches = _batches(subject, model, copies, settings.batch_size, block)
    loss, epochs = _train(model, batches, settings)
    separation = _test(model, batches)
    # Seeds of copies differ, lest the copies of A be those that the model has seen.
    same = relabelled_copies(pair.batch([0, 0]), settings.copies, settings.seed + 2**32)
    reliability = _test(model, _batches(subject, model, same, settings.batch_size, block))
    return _verdict(separation, reliability, settings, loss, epochs, time.perf_counter() - started)


def graphs_per_block(model: nn.Module, pair: GraphStore, settings: RPCSettings) -> int:
    """How many graphs to run at once: a batch, or fewer pairs of copies if it would not fit.

    Known for our models with one or two identifiers; others take whole batches. A block holds as
    many copies of one graph as of the other, so even to a model that normalises over the batch it
    is what the batch is.
    """
    whole = settings.batch_size
    if not isinstance(model, IdentifierGNN) or model.identifiers not in (1, 2):
        return whole
    sizes = count_subgraphs(
        pair, hops=model.hops, identifiers=model.identifiers, labels=model.labels
    )
    cost = working_set(model, training=True)
    needed = cost.pair * int(sizes.pairs.sum()) + cost.link * int(sizes.links.sum())
    needed += cost.row * int(sizes.rows.sum()) + cost.message * int(sizes.messages.sum())
    if settings.memory_budget is None:
        budget = available_memory(next(model.parameters()).device) // 2
    else:
        budget = parse_size(settings.memory_budget)
    return 2 * max(1, min(whole // 2, int(budget // needed)))


def _batches(
    subject: Subject, model: nn.Module, copies: GraphStore, batch_size: int, block: int
) -> list[Blocks]:
    """The copies in batches, each in blocks."""
    starts = range(0, len(copies), batch_size)
    parts = [range(start, min(start + batch_size, len(copies))) for start in starts]
    return [subject.prepare(model, copies.batch(part), block=block) for part in parts]


def _train(model: nn.Module, batches: Sequence[Blocks], settings: RPCSettings) -> tuple[float, int]:
    """Pushes the copies of the two graphs apart; returns the last loss and the epochs."""
    optimizer = torch.optim.Adam(
        model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay
    )
    loss, epoch = math.inf, 0
    model.train()
    while epoch < settings.epochs and not loss < settings.loss_threshold:
        steps = [_step(model, blocks, optimizer) for blocks in batches]
        loss, epoch = sum(steps) / settings.copies, epoch + 1
    model.eval()
    return loss, epoch


def _step(model: nn.Module, blocks: Blocks, optimizer: torch.optim.Optimizer) -> float:
    """Changes the weights once; returns the loss before, summed over pairs of copies."""
    optimizer.zero_grad(set_to_none=True)
    pairs = sum(block.num_graphs for block in blocks) // 2
    total = 0.0
    for block in blocks:
        result = outputs(model, block)
        first, second = result[0::2], result[1::2]
        loss = functional.cosine_embedding_loss(
            first, second, first.new_full((len(first),), -1), reduction="sum"
        )
        (loss / pairs).backward()
        total += float(loss.detach())
    optimizer.step()
    return total


def _test(model: nn.Module, batches: Sequence[Blocks]) -> Comparison:
    results = embed(model, [block for blocks in batches for block in blocks])
    return compare_copies(results[0::2], results[1::2])


def _verdict(
    separation: Comparison,
    reliability: Comparison,
    settings: RPCSettings,
    loss: float,
    epochs: int,
    seconds: float,
) -> PairResult:
    t2, again = separation.t2, reliability.t2
    same = math.isclose(t2, again, rel_tol=1e-5, abs_tol=CLOSE)
    by_formula = t2 > settings.threshold and not same
    return PairResult(
        distinguished=by_formula or separation.constant,
        by_formula=by_formula,
        reliable=again < settings.threshold and not reliability.constant,
        t2=t2,
        t2_reliability=again,
        constant=separation.constant,
        loss=loss,
        epochs=epochs,
        seconds=round(seconds, 3),
    )
