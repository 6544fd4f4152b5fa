import networkx
import pytest
import torch
from torch_geometric.data import Data

from i2gnn.errors import InputError
from i2gnn.training import RunConfig, TrainedModel, fit, predict, train
from i2gnn.training.run import prepare
from i2gnn.training.sources import Sources
from tests.training.test_loop import config
from tests.training.toy import make_model, split, stars


def test_a_trained_model_predicts_as_it_was_tested(tmp_path):
    settings = RunConfig.from_dict(
        {
            "data": {"count": 20, "targets": ["cycle3..cycle4", "path2"]},
            "model": {"hidden_channels": 8, "num_layers": 2, "hops": 1},
            "training": {"epochs": 3, "batch_size": 4, "device": "cpu", "tensorboard": False},
        }
    )
    record = train(settings, tmp_path, progress=False)
    trained = TrainedModel.load(tmp_path, device="cpu")
    assert trained.targets == ("cycle3", "cycle4", "path2") and not trained.model.training
    data = prepare(settings, Sources(None)).data
    test = data.graphs.batch(data.splits.test)
    prediction = trained.predict(test)
    error = (prediction - test.y).abs().mean(0)
    assert error.tolist() == pytest.approx(record["test_metrics"]["mae"], rel=1e-5)
    streamed = trained.predict(test, memory_budget="1GB")
    torch.testing.assert_close(streamed, prediction, rtol=1e-4, atol=1e-5)
    assert trained.predict([networkx.path_graph(3), networkx.path_graph(2)]).shape == (5, 3)
    # Targets are not read, so that it does not matter whose they are.
    edge_index = torch.tensor([[0, 1], [1, 0]])
    unclear = Data(edge_index=edge_index, num_nodes=2, y=torch.zeros(2))
    assert trained.predict(unclear).shape == (2, 3)
    directed = Data(edge_index=edge_index[:, :1], num_nodes=2)
    assert torch.equal(trained.predict(directed, symmetrize=True), trained.predict(unclear))


def test_a_model_of_ones_own_cannot_be_built_from_its_run(tmp_path):
    fit(make_model(), stars(), split(), config(epochs=1), run_dir=tmp_path, progress=False)
    with pytest.raises(InputError, match="a model of yours; build it"):
        TrainedModel.load(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        TrainedModel.load(tmp_path / "nowhere")


def test_features_that_are_not_read_are_told(caplog):
    import i2gnn
    from i2gnn.data import Splits

    graphs = i2gnn.GraphStore.from_smiles(["CCO", "CCN", "CCF"], y=[1.0, 2.0, 3.0])
    splits = Splits([0], [1], [2])
    blind = i2gnn.I2GNN(hops=1, num_layers=1, hidden_channels=4, level="graph")
    fit(blind, blind.extract(graphs), splits, config(epochs=1), progress=False)
    assert "the graphs have 9 features a node, and the model reads none" in caplog.text
    bonds = graphs.edge_attr.shape[1]
    assert f"the graphs have {bonds} features an edge, and the model reads none" in caplog.text
    with pytest.raises(TypeError, match=r"as model.extract\(graphs\) makes them"):
        predict(blind, graphs)
    caplog.clear()
    arguments = i2gnn.I2GNN.arguments_for(graphs)
    seeing = i2gnn.I2GNN(hops=1, num_layers=1, hidden_channels=4, conv="gine", **arguments)
    fit(seeing, seeing.extract(graphs), splits, config(epochs=1), progress=False)
    assert not caplog.text
