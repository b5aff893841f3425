"""Citation and description of a frozen edition: CITATION.cff, Croissant 1.1 with RAI fields, a licence per source.

They depend only on the configuration and the manifest, so verifying writes them again and compares.
"""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import yaml

from almanac.columns import described, schema
from almanac.config import EditionConfig
from almanac.project import RESOURCES

CITATION, CROISSANT = "CITATION.cff", "croissant.json"
# The part that is the same in every description: Croissant's `@context`, and the fields of its extension RAI (`rai`,
# https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html).
SAID = RESOURCES / "croissant.json"
OWN_LICENCE = "MIT"  # for what Almanac itself writes: invented facts, wordings, pages
# Licences of sources that are SPDX identifiers.
SPDX = ("CC0-1.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "ODC-BY-1.0", "MIT")
TYPES = {pa.string(): "sc:Text", pa.int64(): "sc:Integer", pa.float64(): "sc:Float", pa.bool_(): "sc:Boolean"}
FORMATS = {
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".html": "text/html",
    ".csv": "text/csv",
    ".svg": "image/svg+xml",
    ".parquet": "application/vnd.apache.parquet",
}


def terms(licence: str) -> str:
    """Return the SPDX address of a licence, or its name unchanged if it is not in `SPDX`."""
    return f"https://spdx.org/licenses/{licence}.html" if licence in SPDX else licence


def licence_text(source: Mapping[str, Any]) -> bytes:
    """Return the licence file that lies next to a source's facts."""
    lines = [
        f"The facts of source {source['name']} ({source['kind']}) in this folder, and what of them stands in the "
        "datasets, requests and outcomes of this edition, may be used under:",
        terms(source["licence"]),
    ]
    return ("\n".join(lines) + "\n").encode()


def _licences(manifest: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys([*(source["licence"] for source in manifest["sources"]), OWN_LICENCE]))


def citation(config: EditionConfig, manifest: Mapping[str, Any]) -> bytes:
    """Return ``CITATION.cff`` of an edition (Citation File Format 1.2.0)."""
    fields: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this edition or a number of it, please cite it with its digest.",
        "title": _title(config),
        "type": "dataset",
        "authors": [{"name": name} for name in config.credit],
        "version": config.edition,
        "identifiers": [
            {"type": "other", "value": f"sha256:{manifest['digest']}", "description": "the digest of the edition"}
        ],
        "references": [
            {
                "type": "software",
                "title": "Almanac: what language models know",
                "authors": [{"name": "The Almanac authors"}],
                "version": manifest["almanac"],
                **({"commit": manifest["commit"]} if "commit" in manifest else {}),
            }
        ],
    }
    licences = _licences(manifest)
    if set(licences) <= set(SPDX):
        fields["license"] = licences
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10**6).encode()


def cited(config: EditionConfig) -> str:
    """Return the citation in one line, without the digest of the frozen edition, which is appended to it."""
    return f"{', '.join(config.credit)}: {_title(config)}"


def _title(config: EditionConfig) -> str:
    return f"{config.title} (Almanac, edition {config.edition})"


def croissant(config: EditionConfig, manifest: Mapping[str, Any], rows: Mapping[str, type]) -> bytes:
    """Return the Croissant description of an edition, for dataset loaders: every file, and every table's columns.

    ``rows`` has the row class of each table, by its name in the archive.
    """
    here = [entry for entry in manifest["files"] if not entry.get("withheld")]
    filled = [entry for entry in here if entry.get("columns") and entry["path"] in rows]
    models, fixed = len(config.participants()), json.loads(SAID.read_text("utf-8"))
    of_commit = f", commit {manifest['commit']}" if "commit" in manifest else ""
    description = {
        "@context": fixed["@context"],
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": config.edition,
        "description": f"{_title(config)}: facts, what was asked of {models} model{'s' * (models != 1)}, what "
        "they answered, how it was judged, and the numbers.",
        "url": f"urn:sha256:{manifest['digest']}",
        "identifier": f"sha256:{manifest['digest']}",
        "version": config.edition,
        "license": [terms(one) for one in _licences(manifest)],
        "creator": [{"@type": "sc:Organization", "name": name} for name in config.credit],
        "citeAs": f"{cited(config)}, sha256 {manifest['digest']}",
        "isLiveDataset": False,
        **fixed["rai"],
        "rai:hasSyntheticData": True,  # wordings are made by rule, and models write answers
        "prov:wasDerivedFrom": [
            f"{source['name']} ({source['kind']}), {terms(source['licence'])}" for source in manifest["sources"]
        ]
        or ["facts invented by Almanac"],
        "prov:wasGeneratedBy": f"Almanac {manifest['almanac']}{of_commit}, by the configuration edition.json",
        "distribution": [_file(entry) for entry in here],
        "recordSet": [_records(entry, rows[entry["path"]]) for entry in filled],
    }
    return (json.dumps(description, indent=1, ensure_ascii=False) + "\n").encode()


def _file(entry: Mapping[str, Any]) -> dict[str, Any]:
    name = entry["path"]
    kind = next((kind for ending, kind in FORMATS.items() if name.endswith(ending)), "text/plain")
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{entry['bytes']} B",
        "encodingFormat": kind,
        "sha256": entry["sha256"],
    }


def _records(entry: Mapping[str, Any], row: type) -> dict[str, Any]:
    """Return a table's Croissant record set: the columns in which any row has a value."""
    name = entry["path"].removesuffix(".jsonl")
    fields = [field for field in schema(row) if field.name in entry["columns"]]
    keys: tuple[str, ...] = row.KEY  # type: ignore[attr-defined]  # every row class has one
    key, (text, meanings) = [{"@id": f"{name}/{one}"} for one in keys if one in entry["columns"]], described(row)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": text.partition("\n")[0],
        **({"key": key} if key else {}),
        "field": [_field(name, entry["path"], field, meanings.get(field.name)) for field in fields],
    }


def _field(records: str, file: str, field: pa.Field, meaning: str | None) -> dict[str, Any]:
    several = pa.types.is_list(field.type)
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{field.name}",
        "name": field.name,
        **({"description": meaning} if meaning else {}),
        "dataType": TYPES[field.type.value_type if several else field.type],
        **({"isArray": True, "arrayShape": "-1"} if several else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": field.name}},
    }
