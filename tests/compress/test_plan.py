"""Which layers a plan finds, what it leaves out, and what it counts."""

import pytest
import torch
from torch import nn

from betabo.compress.plan import CompressionPlan
from compress.models_case import make_llama


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.ModuleDict({"query": nn.Linear(width, width), "out": nn.Linear(width, width, bias=False)})
        self.mlp = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))

    def forward(self, x):
        return x + self.mlp(self.attention["out"](self.attention["query"](x)))


class Model(nn.Module):
    def __init__(self, width=8, blocks=3):
        super().__init__()
        self.embedding = nn.Embedding(11, width)
        self.body = nn.Module()
        self.body.layers = nn.ModuleList(Block(width) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 2)


def test_layers_of_the_blocks_are_found_by_type_and_in_order():
    plan = CompressionPlan.of(Model())
    assert plan.dims == 12
    assert plan.coordinates[:5] == (
        "0.attention.query",
        "0.attention.out",
        "0.mlp.0",
        "0.mlp.2",
        "1.attention.query",
    )
    assert [layer.role for layer in plan.layers[:4]] == ["Q", "O", "FC1", "FC2"]
    assert [layer.block for layer in plan.layers] == [0] * 4 + [1] * 4 + [2] * 4
    assert plan.layers[2].outputs == 24
    assert plan.layers[2].inputs == 8


def test_what_is_left_out_is_stated_and_nothing_is_forgotten():
    model = Model()
    plan = CompressionPlan.of(model)
    left = {item.name: item for item in plan.left_out}
    assert set(left) == {"embedding", "norm", "head"}
    assert left["embedding"].why == "an embedding"
    assert left["head"].why == "outside the blocks"
    total = sum(p.numel() for p in model.parameters())
    assert plan.parameters + sum(item.parameters for item in plan.left_out) == total


def test_blocks_share_a_coordinate_and_layers_outside_have_their_own():
    plan = CompressionPlan.of(Model(), "block")
    assert plan.coordinates == ("body.layers.0", "body.layers.1", "body.layers.2", "head")
    assert len(plan.layers) == 13
    ratios = plan.ratios([0.1, 0.2, 0.3, 0.4])
    assert ratios["body.layers.1.mlp.2"] == 0.2
    assert ratios["head"] == 0.4


def test_model_without_blocks_gives_all_but_its_last_layer():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    plan = CompressionPlan.of(model)
    assert [layer.name for layer in plan.layers] == ["0", "2"]
    assert [item.why for item in plan.left_out] == ["the last layer"]


def test_tied_weights_stay():
    model = Model()
    model.body.layers[1].attention["query"].weight = model.body.layers[0].attention["query"].weight
    plan = CompressionPlan.of(model)
    assert plan.dims == 10
    assert "it shares its weight with another layer" in {item.why for item in plan.left_out}


def test_nothing_to_compress_is_an_error():
    with pytest.raises(ValueError, match="no linear layer to compress"):
        CompressionPlan.of(nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU()))
    with pytest.raises(ValueError, match="group is 'head'"):
        CompressionPlan.of(Model(), "head")


def test_size_is_counted_by_hand():
    plan = CompressionPlan.of(Model(blocks=2))
    # One block at ratio 0.25 and keep 0.1: 8 x 8 has rank ceil(0.25 * 64 / 16) = 1 and round(0.8) = 1 row; 24 x 8 and
    # 8 x 24 have rank ceil(0.25 * 192 / 32) = 2, and round(2.4) = 2 rows of 8 and 1 row of 24.
    square, up, down = 1 * 16 + 1 * 8, 2 * 32 + 2 * 8, 2 * 32 + 1 * 24
    biases = 8 + 24 + 8
    assert plan.size(0.25, 0.1) == 2 * (square + square + up + down + biases)
    assert plan.size(1.0, 0.1) == plan.parameters == 2 * (64 + 64 + 192 + 192 + biases)


def test_size_never_grows():
    plan = CompressionPlan.of(Model())
    assert plan.size(0.95, 0.9) == plan.parameters


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([0.5, 0.5], "there are 2 ratios, expected 12"),
        (0.0, "is 0.0, expected one above 0"),
        (float("nan"), "is nan"),
        ({"nowhere": 0.5}, "no coordinate or layer 'nowhere'"),
    ],
    ids=["length", "zero", "nan", "name"],
)
def test_bad_ratios_are_named(x, message):
    with pytest.raises(ValueError, match=message):
        CompressionPlan.of(Model()).ratios(x)


def test_ratios_by_name_leave_the_others_alone():
    plan = CompressionPlan.of(Model())
    ratios = plan.ratios({"0.mlp.0": 0.3})
    assert ratios["body.layers.0.mlp.0"] == 0.3
    assert sum(ratio != 1.0 for ratio in ratios.values()) == 1


@pytest.mark.parametrize(
    ("fixture", "layers", "blocks"),
    [("tiny_bert", 12, 4), ("tiny_vit", 12, 3), ("tiny_gpt2", 8, 2), ("tiny_deberta", 12, 4)],
)
def test_transformers(request, fixture, layers, blocks):
    model = request.getfixturevalue(fixture)
    assert CompressionPlan.of(model).dims == layers
    assert CompressionPlan.of(model, "block").dims == blocks
    roles = {layer.role for layer in CompressionPlan.of(model).layers}
    assert roles == ({"QKV", "O", "FC1", "FC2"} if fixture == "tiny_gpt2" else {"Q", "K", "V", "O", "FC1", "FC2"})


@pytest.mark.parametrize(
    ("name", "group", "dims"),
    [("BERT", "layer", 72), ("ViT", "layer", 72), ("GPT-2", "layer", 48), ("DeBERTa-v3", "block", 14)],
)
def test_dims_of_the_paper(name, group, dims):
    transformers = pytest.importorskip("transformers")
    small = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "num_hidden_layers": 12}
    made = {
        "BERT": lambda: transformers.BertForQuestionAnswering(transformers.BertConfig(**small, vocab_size=20)),
        "ViT": lambda: transformers.ViTForImageClassification(
            transformers.ViTConfig(**small, image_size=8, patch_size=4)
        ),
        "GPT-2": lambda: transformers.GPT2ForQuestionAnswering(
            transformers.GPT2Config(n_embd=8, n_head=2, n_layer=12, vocab_size=20)
        ),
        "DeBERTa-v3": lambda: transformers.DebertaV2ForSequenceClassification(
            transformers.DebertaV2Config(**small, vocab_size=20)
        ),
    }
    with torch.device("meta"):
        assert CompressionPlan.of(made[name](), group).dims == dims


@pytest.mark.parametrize("group", ["layer", "block"])
def test_a_mixture_of_experts_is_refused(group: str) -> None:
    model = make_llama("Mixtral", num_local_experts=4)
    with pytest.raises(
        ValueError, match=r"MixtralForCausalLM is a mixture of experts: 88% .* model\.layers\.0\.mlp\.experts"
    ):
        CompressionPlan.of(model, group)  # type: ignore[arg-type]


def test_convolutions_inside_blocks_are_no_experts() -> None:
    blocks = [nn.Sequential(nn.Conv1d(8, 8, 3), nn.Linear(8, 8)) for _ in range(2)]
    assert len(CompressionPlan.of(nn.Sequential(*blocks)).layers) == 2


@pytest.mark.parametrize("family", ["Llama", "Qwen2", "Qwen3", "Gemma2", "Phi3"])
def test_decoders_of_today_have_all_linear_layers_of_their_blocks(family: str) -> None:
    model = make_llama(family, tied=True)
    linears = [name for name, module in model.model.layers.named_modules() if isinstance(module, nn.Linear)]
    assert [layer.name.removeprefix("model.layers.") for layer in CompressionPlan.of(model).layers] == linears
