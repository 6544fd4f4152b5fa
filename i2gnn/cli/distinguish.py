"""`i2gnn distinguish`: which pairs of graphs an exact test or a model tells apart."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from i2gnn.expressiveness import PairSet, Verdicts

__all__ = ["HELP", "add_arguments", "execute", "parse_option"]

HELP = "tell pairs of graphs apart: by exact colour refinement, or by a model with random weights"

TESTS = ("1-wl", "2-wl", "3-wl", "2-fwl", "3-fwl", "identifier-wl")
DATASETS = ("paper", "exp", "csl", "sr25", "brec")
ONLY_IDENTIFIERS = ("identifiers", "labels", "node_states")
"""Options of one test alone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `distinguish`."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="two files of graphs instead of --dataset"
    )
    parser.add_argument(
        "--dataset",
        choices=DATASETS,
        help="pairs to tell apart: 11 of the paper's, 600 of EXP, 45 of CSL, 105 of SR25, 400 of "
        "BREC; paper and csl need no file",
    )
    parser.add_argument("--test", choices=TESTS, help="an exact test of Weisfeiler and Leman")
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="a model with random weights: a name of `i2gnn models`, my.module:factory or "
        "file.py:factory (a function or class that returns a torch.nn.Module)",
    )
    test = parser.add_argument_group("options of tests")
    test.add_argument(
        "--rounds", type=_at_least(0), metavar="T", help="of refinement (default: until stable)"
    )
    test.add_argument(
        "--identifiers",
        type=int,
        choices=range(4),
        help="of identifier-wl: marked nodes of a subgraph (default 2)",
    )
    test.add_argument(
        "--labels",
        choices=("identity", "spd", "spd_pred"),
        help="of identifier-wl: how they are marked (default spd, by distances)",
    )
    test.add_argument(
        "--node-states",
        action="store_const",
        const=True,
        help="of identifier-wl: rows see the colour of their node, the paper's pooled h_k",
    )
    parser.add_argument(
        "--hops",
        type=_at_least(1),
        metavar="K",
        help="radius of ego-nets (default: the whole graph for identifier-wl, 3 for our models)",
    )
    model = parser.add_argument_group("options of models (float64, on the CPU)")
    model.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an argument of the model or factory, such as num_layers=8; may be repeated",
    )
    model.add_argument(
        "--draws", type=_at_least(1), default=3, metavar="N", help="of random weights (default 3)"
    )
    parser.add_argument("--category", metavar="NAME", help="only pairs of this category")
    parser.add_argument("--failures", action="store_true", help="list the pairs not told apart")


def execute(arguments: argparse.Namespace) -> int:
    """Tells the pairs apart, prints a table."""
    mistake = _mistake(arguments)
    if mistake:
        print(f"i2gnn distinguish: {mistake}", file=sys.stderr)
        return 2
    pairs = _pairs(arguments)
    found, settings = _by_test(arguments, pairs) if arguments.test else _by_model(arguments, pairs)
    if arguments.json:
        print(json.dumps({"settings": settings, **found.to_dict()}, indent=2))
        return 0
    console = Console()
    console.print(_title(arguments, settings), highlight=False)
    console.print(_table(found))
    if arguments.failures:
        console.print("Pairs that are not separated:", _failures(found))
    console.print(_notes(found, arguments, settings), highlight=False)
    return 0


def _mistake(arguments: argparse.Namespace) -> str | None:
    """What is wrong with the options together, if anything."""
    if (arguments.test is None) == (arguments.model is None):
        return "give either --test or --model"
    if len(arguments.files) not in (0, 2) or bool(arguments.files) == bool(arguments.dataset):
        return "give either --dataset or two files of graphs"
    given = [name for name in ONLY_IDENTIFIERS if getattr(arguments, name) is not None]
    if arguments.test != "identifier-wl" and given:
        return f"--{given[0].replace('_', '-')} is an option of --test identifier-wl"
    if arguments.hops is not None and arguments.test not in (None, "identifier-wl"):
        return "--hops is an option of --test identifier-wl and of models"
    if arguments.model and arguments.rounds is not None:
        return "--rounds is an option of tests; a model has --option num_layers=T"
    if arguments.test and arguments.option:
        return "--option is for models"
    return None


def _pairs(arguments: argparse.Namespace) -> "PairSet":
    from i2gnn.errors import InputError
    from i2gnn.expressiveness.datasets import load_pairs, read_pairs

    if arguments.files:
        pairs = read_pairs(*arguments.files)
    else:
        pairs = load_pairs(arguments.dataset, arguments.data_root)
    if arguments.category is None:
        return pairs
    if arguments.category not in pairs.categories:
        raise InputError(
            f"{pairs.name} has no category {arguments.category!r}; "
            f"expected one of {', '.join(pairs.categories)}"
        )
    return pairs.take(p for p, name in enumerate(pairs.category) if name == arguments.category)


def _by_test(arguments: argparse.Namespace, pairs: "PairSet") -> tuple["Verdicts", dict[str, Any]]:
    from i2gnn.expressiveness import distinguish_pairs

    settings: dict[str, Any] = {"test": arguments.test, "rounds": arguments.rounds}
    if arguments.test == "identifier-wl":
        settings |= {
            "identifiers": 2 if arguments.identifiers is None else arguments.identifiers,
            "hops": arguments.hops,
            "labels": arguments.labels or "spd",
            "node_states": bool(arguments.node_states),
        }
    found = distinguish_pairs(pairs, **settings, progress=_progress(arguments))
    return found, settings


def _by_model(arguments: argparse.Namespace, pairs: "PairSet") -> tuple["Verdicts", dict[str, Any]]:
    import itertools

    from i2gnn.expressiveness import load_subject, separate, strong_options
    from i2gnn.expressiveness.separation import GAINS
    from i2gnn.models import REGISTRY

    options = strong_options(arguments.model) if arguments.model in REGISTRY else {}
    if arguments.hops is not None:
        options["hops"] = arguments.hops
    options |= dict(map(parse_option, arguments.option))
    subject = load_subject(arguments.model, options)
    gains = tuple(itertools.islice(itertools.cycle(GAINS), arguments.draws))
    found = separate(
        subject, pairs, gains=gains, seed=arguments.seed, progress=_progress(arguments)
    )
    settings = {"model": arguments.model, "seed": arguments.seed, "gains": gains}
    return found, settings | {"options": dict(subject.options)}


def parse_option(text: str) -> tuple[str, Any]:
    """KEY=VALUE, the value as in YAML: 8, true, gin, [1, 2]."""
    import yaml

    from i2gnn.errors import InputError

    key, equals, value = text.partition("=")
    try:
        if key and equals:
            return key.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        pass
    raise InputError(f"--option {text!r}; expected KEY=VALUE, such as num_layers=8")


def _title(arguments: argparse.Namespace, settings: dict[str, Any]) -> str:
    where = arguments.dataset or " and ".join(arguments.files)
    if arguments.model:
        return f"{arguments.model}, random weights, on {where}"
    parts = [arguments.test]
    if arguments.test == "identifier-wl":
        hops = settings["hops"]
        parts.append(_plural(settings["identifiers"], "identifier"))
        parts.append("whole graph" if hops is None else _plural(hops, "hop"))
        parts += ["node states"] if arguments.node_states else []
    if arguments.rounds is not None:
        parts.append(_plural(arguments.rounds, "round"))
    return f"{', '.join(parts)} on {where}"


def _table(found: "Verdicts") -> Table:
    verdicts = ["separated", "tied"] + (["unclear"] if found.ratio is not None else [])
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_footer=True)
    table.add_column("category", "all", no_wrap=True)
    table.add_column("pairs", str(len(found.pairs)), justify="right")
    for verdict in verdicts:
        table.add_column(verdict, str(found.count(verdict)), justify="right")  # type: ignore[arg-type]
    for category, counts in found.by_category().items():
        table.add_row(category, str(counts["pairs"]), *(str(counts[v]) for v in verdicts))
    return table


def _failures(found: "Verdicts") -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("pair", "category", "called", "nodes", "verdict"):
        table.add_column(name, justify="right" if name in ("pair", "nodes") else "left")
    sizes = found.pairs.graphs.sizes["node"]
    for p, verdict in enumerate(found.verdict):
        if verdict != "separated":
            pairs = found.pairs
            nodes = str(int(sizes[pairs.first[p]]))
            table.add_row(str(p), pairs.category[p], pairs.title[p], nodes, verdict)
    return table


def _notes(found: "Verdicts", arguments: argparse.Namespace, settings: dict[str, Any]) -> str:
    seconds = f"{found.seconds:.1f} s."
    if not arguments.model:
        return f"Exact colour refinement; no verdict rests on hashes. {seconds}"
    tie, separation = found.margin()
    parts = [
        f"float64, {len(settings['gains'])} draws of weights; noise is how much the output changes "
        "when nodes are relabelled.",
        "" if tie is None else f"Ties: gaps of at most {tie:.2g} times the noise.",
        "" if separation is None else f"Separations: at least {separation:.2g} times.",
        "A tie holds for these weights; only --test proves one.",
        seconds,
    ]
    if found.count("unclear"):
        parts.insert(3, "Unclear: between 30 and 10,000 times.")
    return " ".join(part for part in parts if part)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _progress(arguments: argparse.Namespace) -> bool:
    return not arguments.quiet and sys.stderr.isatty()


def _at_least(least: int) -> Any:
    def integer(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"expected {least} or more, got {text}")
        return int(text)

    return integer
