"""What makes each of the five papers a thousandth of its size; see `tests.papers.runs`."""

from tests.papers import releases
from tests.papers.runs import Run

FILES = {"kind": "files"}
ALL = {"train": 4, "test": 18, "min_facts": 4, "min_objects": 2}

WU = Run(
    releases={"trex": releases.documents, "nobel": releases.laureates},
    over={
        "sources": {"trex": {"relations": ["P103", "P36", "P449", "P570", "P577"]}, "nobel": FILES},
        "datasets": {
            "trex": {**ALL, "test": 14, "choices": 5},
            "nobel": {"train": 8, "test": 32, "min_facts": 20, "min_objects": 20, "choices": 5},
        },
        "suites": {
            "ic_lke": {"trex": {"shots": 4, "draws": 2}},
            "eic_lke": {"trex": {"examples": 4, "first": 2, "step": 1, "sample": 4}},
            "lke_prompts": {"trex": {"sample": 4, "prompts": 2}},
            "lke_separators": {"trex": {"shots": 4, "sample": 4}},
            "lke_sweep": {"nobel": {"examples": [0, 2, 4], "draws": 2, "sample": 4}},
            "lke_positions": {"nobel": {"pairs": 12, "replaced": 3, "bins": 4}},
            "lke_generated": {"trex": {"shots": 4, "sample": 4, "new_tokens": 8}},
        },
    },
    networks={
        "Llama-2-7B": "causal",
        "Llama-2-7B-FT1": "causal",
        "OPT-350M": "causal",
        "OPT-125M": "causal",
    },
    known={},
    files={(suite, "trex", "published"): releases.prompts for suite in ("lke_prompts", "lke_generated")},
)

ZHAO = Run(
    releases={"lama": releases.lama},
    over={
        "datasets": {"": ALL},
        "suites": {
            "belief": {
                "encoders": {"per_group": 2, "sample": 6, "draws": 200, "bins": 1},
                "decoders": {
                    "per_group": 2,
                    "sample": 6,
                    "draws": 200,
                    "sampled": 18,
                    "samples": 3,
                    "bins": 1,
                    "new_tokens": 4,
                },
                "written": {"sample": 6, "draws": 200, "sampled": 18, "samples": 3, "bins": 1, "new_tokens": 4},
            }
        },
    },
    networks={"BERT-base": "masked", "BERT-large": "masked", "Llama-2-7B": "causal"},
    known={"Llama-2-7B-IT": 0.7, "Llama-2-13B": 0.5, "Llama-2-13B-IT": 0.6},
)

SUN = Run(
    releases={
        "imdb": releases.imdb,
        "goodreads": releases.goodreads,
        "mag": releases.mag,
        "dblp": releases.dblp,
        "dbpedia": releases.dbpedia,
    },
    over={
        "datasets": {"": {"test": 18}},
        "suites": {
            "head_to_tail": {
                "imdb": {"sample": 1, "answer_tokens": 2},
                "goodreads": {"sample": 1, "answer_tokens": 2},
                "mag": {"sample": 1, "answer_tokens": 2},
                "dblp": {"sample": 1, "answer_tokens": 2},
                "dbpedia": {"sample": 1, "answer_tokens": 2},
            }
        },
    },
    networks={"LLaMA-7B": "causal"},
    known={
        "GPT-4": 0.8,
        "ChatGPT": 0.6,
        "LLaMA-13B": 0.3,
    },
)

DONG = Run(
    releases={"trex": releases.kassess, "lama": releases.lama, "lpaqa": releases.lpaqa},
    over={
        "datasets": {"": {"test": 4, "choices": 4}},
        "suites": {
            "karr": {
                "lpaqa": {"resamples": 3},
                "trex": {"models": ["LLaMA", "Alpaca", "Vicuna", "LLaMA-65B"]},
                "encoder_decoders": {"models": ["T5-large"]},
            }
        },
    },
    files={("karr", "lama", "labels"): releases.labels},
    networks=dict.fromkeys(("LLaMA", "Alpaca", "Vicuna", "LLaMA-65B"), "causal") | {"T5-large": "seq2seq"},
    known={},
)

LUO = Run(
    releases={
        "trex": releases.lama,
        "google_re": releases.google_re,
        "wikibio": releases.biolama,
        "umls": releases.biolama,
    },
    over={
        "datasets": {"": {"test": 18}},
        "suites": {
            "facteval": {
                "trex": {"sample": 2, "answer_tokens": 2, "embedder_layer": 1},
                "google_re": {"sample": 2, "answer_tokens": 2, "embedder_layer": 1},
                "wikibio": {"sample": 2, "answer_tokens": 2, "embedder_layer": 1},
                "umls": {"sample": 2, "answer_tokens": 2, "embedder_layer": 1},
            }
        },
    },
    networks={"FLAN-T5-XL": "seq2seq", "RoBERTa-large": "masked"},
    known={"T5-XL": 0.3, "ChatGPT": 0.7},
    files={("facteval", "google_re", "written"): releases.written},
)

OVERLAYS = {"wu": WU, "zhao": ZHAO, "sun": SUN, "dong": DONG, "luo": LUO}
