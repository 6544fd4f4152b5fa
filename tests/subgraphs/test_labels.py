import dataclasses

import torch

from i2gnn import extract_subgraphs
from i2gnn.subgraphs.labels import attach_labels
from tests.named_graphs import cycle, store


def test_resistance_is_infinite_between_parts_and_right_inside_them():
    """Ego-nets are connected; here one link of a root's ego-net is taken out to cut it in two."""
    s = extract_subgraphs(store([(0, 1), (0, 2), (1, 2), (2, 3)]), hops=2, identifiers=1)
    # Of root 0, the nodes are pairs 0 .. 3; without its link 2 - 3, node 3 stands alone.
    ends = torch.stack([s.link_to_receiver, s.link_to_pair.long()], dim=1).sort(dim=1).values
    keep = (ends != torch.tensor([2, 3])).any(dim=1)
    counts = torch.bincount(s.link_to_receiver[keep], minlength=s.num_pairs)
    broken = dataclasses.replace(
        s,
        link_count=counts.to(torch.int32),
        link_to_pair=s.link_to_pair[keep],
        link_to_edge=s.link_to_edge[keep],
        sizes={**s.sizes, "link": torch.tensor([int(keep.sum())])},
    )
    values = attach_labels(broken, ("resistance",)).resistance[:4, 0]
    assert values[3] == float("inf")
    torch.testing.assert_close(values[:3], torch.tensor([0.0, 2 / 3, 2 / 3]))
    spd = attach_labels(broken, ("spd",)).labels[:4, 0]
    assert spd.tolist() == [1, 2, 2, 0]  # 0: unreachable


def test_resistance_in_a_cycle_is_the_parallel_of_two_paths():
    s = extract_subgraphs(store(cycle(6)), hops=3, labels="spd+resistance")
    d = s.labels[:, 0].float() - 1
    torch.testing.assert_close(s.resistance[:, 0], d * (6 - d) / 6)
