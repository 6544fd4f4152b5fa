import torch

from i2gnn.numerics import matmul_precision, seeded


def test_a_seed_leaves_the_callers_random_numbers_alone():
    before = torch.get_rng_state()
    with seeded(3):
        first = torch.rand(2)
    with seeded(3):
        again = torch.rand(2)
    assert torch.equal(first, again)
    assert torch.equal(torch.get_rng_state(), before)


def test_precision_is_set_and_restored():
    before = torch.get_float32_matmul_precision()
    with matmul_precision("tf32"):
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before
