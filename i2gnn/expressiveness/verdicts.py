"""What a test or a model says of the pairs of a data set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from i2gnn.expressiveness.datasets import PairSet

__all__ = ["Verdict", "Verdicts"]

Verdict = Literal["separated", "tied", "unclear"]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """One verdict per pair.

    Attributes:
        pairs: The pairs.
        verdict: Of each pair. An exact test leaves nothing "unclear".
        ratio: Of a model with random weights, how many times the noise the gap of each pair is;
            None for an exact test.
        seconds: What it took.

    Example:
        >>> from i2gnn.expressiveness import distinguish_pairs, load_pairs
        >>> found = distinguish_pairs(load_pairs("paper"), "2-fwl")
        >>> found.count("separated"), found.where("tied")
        (10, [10])
        >>> found.by_category()["wheels"]
        {'pairs': 4, 'separated': 4, 'tied': 0, 'unclear': 0}
    """

    pairs: PairSet
    verdict: Sequence[Verdict]
    ratio: Sequence[float] | None
    seconds: float

    def count(self, verdict: Verdict) -> int:
        """How many pairs got this verdict."""
        return sum(found == verdict for found in self.verdict)

    def where(self, verdict: Verdict) -> list[int]:
        """Which pairs got this verdict."""
        return [p for p, found in enumerate(self.verdict) if found == verdict]

    def by_category(self) -> dict[str, dict[str, int]]:
        """How many pairs of each category there are, and how many got each verdict."""
        table = {
            category: {"pairs": 0, "separated": 0, "tied": 0, "unclear": 0}
            for category in self.pairs.categories
        }
        for category, verdict in zip(self.pairs.category, self.verdict, strict=True):
            table[category]["pairs"] += 1
            table[category][verdict] += 1
        return table

    def margin(self) -> tuple[float | None, float | None]:
        """The largest ratio of a tie and the smallest of a separation, where there are any."""
        if self.ratio is None:
            return None, None
        tied = [self.ratio[p] for p in self.where("tied")]
        separated = [self.ratio[p] for p in self.where("separated")]
        return max(tied, default=None), min(separated, default=None)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        largest_tie, smallest_separation = self.margin()
        return {
            "dataset": self.pairs.name,
            "pairs": len(self.pairs),
            "separated": self.count("separated"),
            "tied": self.count("tied"),
            "unclear": self.count("unclear"),
            "categories": self.by_category(),
            "not_separated": [
                {
                    "pair": p,
                    "title": self.pairs.title[p],
                    "category": self.pairs.category[p],
                    "verdict": verdict,
                }
                for p, verdict in enumerate(self.verdict)
                if verdict != "separated"
            ],
            "largest_tie_over_noise": largest_tie,
            "smallest_separation_over_noise": smallest_separation,
            "seconds": round(self.seconds, 3),
        }
