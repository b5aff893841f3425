"""Which answers are taken: those of the host that was named."""

import pytest

from almanac.errors import AlmanacError
from almanac.sources.retries import same_host


@pytest.mark.parametrize(
    "answered",
    ["https://a.org/data", "https://n.org/data", "https://query.m.org/data", "file:///data", "ftp://m.org/data", ""],
)
def test_what_another_host_or_no_web_address_answers_is_refused(answered):
    same_host("https://m.org/query", "http://M.org:8080/data")
    with pytest.raises(AlmanacError, match=f"redirects to {answered}, another host"):
        same_host("https://m.org/query", answered)
