import pytest
import tiny_encoders

from almanac.models.registry import ModelSource, load


@pytest.fixture(scope="session")
def encoder(tmp_path_factory):
    """Return a function that makes and loads a tiny masked model or encoder-decoder by name, once."""
    loaded = {}

    def get(name: str):
        if name not in loaded:
            folder = tiny_encoders.make(name, tmp_path_factory.mktemp(name))
            loaded[name] = load(ModelSource(str(folder), device="cpu"))
        return loaded[name]

    return get
