"""What a training run is made of: the settings, with the paper's defaults."""

from dataclasses import dataclass
from typing import Any, Literal

from i2gnn.memory import parse_size
from i2gnn.models import REGISTRY
from i2gnn.training.metrics import MetricName
from i2gnn.training.options import Settings, option

__all__ = [
    "DataConfig",
    "Loss",
    "ModelConfig",
    "OptimizerConfig",
    "RunConfig",
    "ScheduleConfig",
    "TrainingConfig",
]

Loss = Literal["l1", "mse", "l1+mse", "huber", "bce", "ce"]


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(Settings):
    """Adam."""

    name: Literal["adam", "adamw"] = option("adam", "adamw: weights decay apart from gradients")
    lr: float = option(1e-3, "learning rate", above=0)
    weight_decay: float = option(0.0, "adam: L2 penalty; adamw: decay of weights", minimum=0)
    max_grad_norm: float | None = option(None, "clip gradients to this norm", above=0)


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig(Settings):
    """How the learning rate falls."""

    name: Literal["plateau", "step", "cosine", "none"] = option("plateau", "kind of schedule")
    factor: float = option(0.9, "plateau, step: multiplies the learning rate", above=0, below=1)
    patience: int = option(10, "plateau: epochs without progress before a cut", minimum=0)
    step_size: int = option(50, "step: epochs between cuts", minimum=1)
    min_lr: float = option(1e-5, "plateau, cosine: where it ends", minimum=0)
    warmup: int = option(0, "epochs before it, in which the learning rate grows", minimum=0)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Settings):
    """Everything `fit` needs to know beside the model and the data."""

    loss: Loss = option("l1", "l1, mse, l1+mse, huber (regression), bce, ce (classification)")
    metric: Literal["auto", MetricName] = option(
        "auto", "selects the best epoch; auto: normalized_mae, or accuracy for bce and ce"
    )
    standardize: Literal["train+val", "train", "none"] = option(
        "train+val", "graphs whose mean and std scale the targets of regression"
    )
    epochs: int = option(2000, "at most this many", minimum=1)
    batch_size: int = option(256, "graphs in a batch", minimum=1)
    early_stop: int | None = option(None, "stop after so many epochs without progress", minimum=1)
    time_limit: float | None = option(
        None, "end with the epoch that passes so many seconds", above=0
    )
    optimizer: OptimizerConfig = option(OptimizerConfig, "Adam")
    schedule: ScheduleConfig = option(ScheduleConfig, "of the learning rate")
    average: float | None = option(
        None, "validate and keep averaged weights; decay in a step, such as 0.999", above=0, below=1
    )
    distinct: bool = option(
        False, "train on one node of each kind (equal neighbourhoods); run one of each to validate"
    )
    branches: int | None = option(
        None, "train on so many branches of each root, drawn at random", minimum=1
    )
    resample: Literal["epoch", "once"] = option("epoch", "when these branches are drawn")
    memory_budget: str | None = option(
        None, "such as 2GB: extract while running, as many roots at a time as fit"
    )
    seed: int = option(
        0, "of the weights, the order of graphs, branches and dropout", minimum=0, below=2**63
    )
    device: str = option("auto", "auto, cpu, cuda or cuda:N")
    precision: Literal["float32", "tf32", "bfloat16", "float64"] = option(
        "float32", "tf32: fast matrix products on GPUs; bfloat16: mixed"
    )
    deterministic: bool = option(False, "refuse operations that differ from run to run")
    cuda_graphs: Literal["auto", "off"] = option(
        "auto", "auto: replay recorded training steps on a GPU, if the model can"
    )
    checkpoint_seconds: float = option(
        30.0, "time between checkpoints; 0: after every epoch", minimum=0
    )
    tensorboard: bool = option(True, "write TensorBoard logs, if it is installed")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory_budget is not None:
            parse_size(self.memory_budget)


@dataclass(frozen=True, kw_only=True)
class DataConfig(Settings):
    """Which graphs, and what to predict of them."""

    name: Literal["synthetic", "counting", "chembl"] = option(
        "synthetic", "generated here, or counting, chembl: the paper's graphs and molecules"
    )
    targets: tuple[str, ...] = option(("cycle5",), "substructures to count, one output each")
    level: Literal["node", "graph"] = option("node", "counts per node or per graph")
    count: int = option(5000, "synthetic: number of graphs, split 30/20/50 %", minimum=10)
    seed: int = option(0, "of generated graphs and their split", minimum=0)
    limit: int | None = option(
        None, "counting, chembl: so many graphs, split in the same proportions", minimum=10
    )
    more: int | None = option(
        None, "counting: so many more graphs to train on, generated with the seed", minimum=1
    )


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Settings):
    """Which network; channels in and out follow from the data.

    What is null is left to the model.
    """

    name: str = option("i2gnn", "as listed by `i2gnn models`", choices=tuple(REGISTRY))
    hidden_channels: int = option(64, "width D", minimum=1)
    num_layers: int = option(5, "depth T", minimum=1)
    hops: int = option(3, "radius K of the ego-nets", minimum=1)
    conv: str | None = option(None, "layer: gated, gin, gine, graph, product or nn")
    labels: str | None = option(None, "joined by +; null: spd, or none without identifiers")
    branch_labels: bool | None = option(None, "false: labels of the root alone")
    label_injection: Literal["layer", "input", "concat"] = option(
        "layer", "labels enter at every layer, at the input only, or beside the states"
    )
    norm: Literal["none", "batch"] | None = option(None, "after every layer")
    residual: bool | None = option(None, "layers add their input")
    dropout: float | None = option(None, "after every layer", minimum=0, below=1)
    node_states: bool | None = option(None, "rows see the pooled state of their node")
    virtual_node: bool | None = option(None, "one per graph")
    readout: str | None = option(None, "nodes, center, side, context joined by +")
    gates: bool | None = option(None, "readouts are gated by the labels")
    pool: Literal["sum", "mean"] | None = option(None, "in all readouts")
    options: dict[str, Any] = option(dict, "further arguments of the model, by name")


@dataclass(frozen=True, kw_only=True)
class RunConfig(Settings):
    """One run of `i2gnn train`."""

    data: DataConfig = option(DataConfig, "graphs and targets")
    model: ModelConfig = option(ModelConfig, "network")
    training: TrainingConfig = option(TrainingConfig, "optimisation")
