"""An archive is unpacked whole or not at all, and never outside its folder."""

import contextlib
import io
import random
import shutil
import stat
import tarfile
import zipfile

import pytest

from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.sources import files
from almanac.sources.archives import unpack
from almanac.sources.files import read_columns, read_folder

BIG = 10**10
ENTITIES = b"entity_id,label\na,A\nb,B\n"


def pull(origin, output):
    """Run the command as a user would."""
    return main(["pull", "files", "--from", str(origin), "--output", str(output)])


def zipped(path, members, kinds=()):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = dict(kinds).get(name, 0o644 | stat.S_IFREG) << 16
            archive.writestr(info, content)
    return path


def tarred(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def member(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


GOOD = {"a.txt": b"a", "deep/er/b.txt": b"b" * 1000, "empty": b""}


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_an_archive_is_unpacked_whole(tmp_path, form):
    path = tmp_path / f"good.{form}"
    _ = zipped(path, GOOD) if form == "zip" else tarred(path, [(member(name), body) for name, body in GOOD.items()])
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").write_text("from before")
    unpack(path, out, 10_000)
    assert {file.relative_to(out).as_posix(): file.read_bytes() for file in out.rglob("*") if file.is_file()} == GOOD


BAD = {
    "a member above": lambda path: zipped(path, {"ok": b"1", "../evil": b"2"}),
    "a member above, deep": lambda path: zipped(path, {"a/../../evil": b"2"}),
    "an absolute member": lambda path: zipped(path, {"/tmp/evil": b"2"}),
    "a member with backslashes": lambda path: zipped(path, {"..\\evil": b"2"}),
    "a link in a zip": lambda path: zipped(path, {"link": b"/etc/passwd"}, {"link": stat.S_IFLNK | 0o777}.items()),
    "a member above in a tar": lambda path: tarred(path, [(member("../evil"), b"2")]),
    "a link out of a tar": lambda path: tarred(
        path, [(member("l", tarfile.SYMTYPE, "/"), b""), (member("l/evil"), b"2")]
    ),
    "a hard link": lambda path: tarred(path, [(member("l", tarfile.LNKTYPE, "/etc/passwd"), b"")]),
    "a device": lambda path: tarred(path, [(member("dev", tarfile.CHRTYPE), b"")]),
    "a file that is too large": lambda path: zipped(path, {"zeros": bytes(50_000)}),
    "many files that are too large": lambda path: zipped(path, {f"f{number}": bytes(999) for number in range(20)}),
    "the same file twice": lambda path: tarred(path, [(member("a"), b"1"), (member("a"), b"2")]),
    "a file and a folder": lambda path: tarred(path, [(member("a"), b"1"), (member("a/b"), b"2")]),
    "no archive": lambda path: path.write_bytes(b"<html>"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_archive_that_is_not_to_be_trusted_leaves_nothing(tmp_path, case):
    folder = tmp_path / "in" / "here"
    folder.mkdir(parents=True)
    path = tmp_path / "bad"
    BAD[case](path)
    with pytest.raises(AlmanacError, match=str(path)):
        unpack(path, folder / "out", 10_000)
    assert list(folder.rglob("*")) == []
    assert not list(tmp_path.rglob("*evil*"))


def test_a_member_that_claims_ten_gigabytes_is_refused_before_it_is_written(tmp_path):
    path = zipped(tmp_path / "claims.zip", {"big": b"x" * 100})
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (4_000_000_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(AlmanacError, match="big: has 4000000000 bytes"):
        unpack(path, tmp_path / "out", 10**9)
    info = member("big")
    info.size = BIG
    (tmp_path / "claims.tar").write_bytes(info.tobuf() + b"x" * 512)
    with pytest.raises(AlmanacError, match="big: has 10000000000 bytes"):
        unpack(tmp_path / "claims.tar", tmp_path / "out", 10**9)


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_a_damaged_archive_is_named(tmp_path, form):
    path = tmp_path / f"cut.{form}"
    body = random.Random(2).randbytes(5000)
    _ = zipped(path, {"a": body}) if form == "zip" else tarred(path, [(member("a"), body)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-3000] if form == "tar.gz" else whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    with pytest.raises(AlmanacError, match="cannot be unpacked"):
        unpack(path, tmp_path / "out", 10**6)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_no_changed_byte_makes_another_error_or_another_place(tmp_path, form):
    folder = tmp_path / "in"
    folder.mkdir()
    path = tmp_path / f"changed.{form}"
    _ = zipped(path, GOOD) if form == "zip" else tarred(path, [(member(name), body) for name, body in GOOD.items()])
    whole, here = path.read_bytes(), sorted(tmp_path.iterdir())
    for place in range(0, len(whole), 3):
        for mask in (0x01, 0x80, 0xFF):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
            with contextlib.suppress(AlmanacError):
                unpack(path, folder / "out", 10_000)
                shutil.rmtree(folder / "out")
            assert list(folder.iterdir()) == []
    assert sorted(tmp_path.iterdir()) == here


@pytest.mark.parametrize("top", ["", "my_facts/"])
@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_a_source_of_files_may_be_an_archive(tmp_path, form, top):
    tables = {f"{top}facts.csv": b"relation_id,subject_id,object_id\nP,a,b\n", f"{top}entities.csv": ENTITIES}
    path = tmp_path / f"mine.{form}"
    _ = zipped(path, tables) if form == "zip" else tarred(path, [(member(name), body) for name, body in tables.items()])
    assert pull(path, tmp_path / "out" / "mine") == 0
    assert sorted(file.name for file in (tmp_path / "out" / "mine").iterdir()) == [
        "entities.csv",
        "facts.csv",
        "pull.json",
    ]
    assert [fact.fact_id for fact in read_folder(tmp_path / "out" / "mine", "mine").facts] == ["P|a|b"]
    assert read_folder(path, "mine") == read_folder(tmp_path / "out" / "mine", "mine")


def test_a_frozen_edition_of_one_source_is_a_file_of_its_facts(tmp_path):
    """Its dataset has tables of the same names, and a source lies beside its licence."""
    facts = b"relation_id,subject_id,object_id\nP,a,b\n"
    edition = {"edition.json": b"{}", "dataset/d/facts.jsonl": b"{}\n", "sources/s/LICENCE.txt": b"CC0"}
    edition |= {"sources/s/facts.csv": facts, "sources/s/entities.csv": ENTITIES}
    assert [row.fact_id for row in read_folder(zipped(tmp_path / "one.zip", edition), "s").facts] == ["P|a|b"]
    edition |= {"sources/t/facts.csv": facts, "sources/t/entities.csv": ENTITIES}
    with pytest.raises(AlmanacError, match=r"two\.zip: is an edition of several sources; unpack it and name .*/t"):
        read_folder(zipped(tmp_path / "two.zip", edition), "s")


def test_facts_beside_folders_of_other_facts_are_those_of_the_archive(tmp_path):
    facts = b"relation_id,subject_id,object_id\nP,a,b\n"
    tables = {"facts.csv": facts, "entities.csv": ENTITIES, "sources/old/facts.csv": b"", "sources/new/facts.csv": b""}
    assert [row.fact_id for row in read_folder(zipped(tmp_path / "mine.zip", tables), "s").facts] == ["P|a|b"]


@pytest.mark.parametrize("top", ["", "my_facts/"])
def test_what_is_said_of_an_archives_tables_names_the_archive(tmp_path, top):
    rows = b"relation_id,subject_id,value,datatype\nP,a,01990,date\n"
    path = zipped(tmp_path / "mine.zip", {f"{top}facts.csv": rows, f"{top}entities.csv": ENTITIES, f"{top}x.csv": b""})
    notes = read_columns(path, "mine").notes
    assert len(notes) == 3 and all(note.startswith(f"{path}{'/my_facts' if top else ''}") for note in notes)
    assert f"{path}/{top}facts.csv: line 2: the date '01990' is read as '1990'" in notes


@pytest.mark.parametrize("case", BAD)
def test_a_source_that_is_a_bad_archive_is_refused_and_leaves_nothing(tmp_path, case, capsys, monkeypatch):
    monkeypatch.setattr(files, "ARCHIVE_BYTES", 10_000)
    path = tmp_path / "bad"
    BAD[case](path)
    assert pull(path, tmp_path / "out" / "mine") == 1
    assert f"almanac pull: {path}: " in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["bad"]


@pytest.mark.parametrize("name", ["inventory.csv", "mine/inventory.csv", "mine/spring/inventory.csv"])
def test_an_archive_of_one_file_of_facts_is_that_file(tmp_path, capsys, name):
    rows = b"subject,relation,object\nPeru,capital,Lima\nChile,Capital,Santiago\n"
    path = zipped(tmp_path / "inventory.csv.zip", {name: rows, f"__MACOSX/._{name}": b"\0", "README.txt": b"Facts."})
    found = read_columns(path, "s")
    assert found.facts["fact_id"].to_list() == ["capital|Chile|Santiago", "capital|Peru|Lima"]
    assert found.notes == (f"{path}/{name}: line 3: the relation 'Capital' is read as 'capital'",)
    assert pull(path, tmp_path / "out") == 0
    assert f"note: {path}: line 3: the relation 'Capital' is read as 'capital'" in capsys.readouterr().err


def test_a_folder_in_a_folder_of_an_archive_is_found(tmp_path):
    tables = {"my/x/entities.csv": ENTITIES, "my/x/facts.csv": b"relation_id,subject_id,object_id\nr,a,b\n"}
    [fact] = read_folder(zipped(tmp_path / "deep.zip", tables), "s").facts
    assert fact.fact_id == "r|a|b"


def test_an_archive_whose_names_have_backslashes_says_so(tmp_path):
    with pytest.raises(AlmanacError, match="has backslashes for slashes; pack it again with another program"):
        read_folder(zipped(tmp_path / "win.zip", {"my\\facts.csv": b""}), "s")


def test_an_archive_without_facts_says_so(tmp_path, capsys):
    assert pull(zipped(tmp_path / "mine.zip", {"a/entities.csv": ENTITIES}), tmp_path / "out") == 1
    assert f"{tmp_path}/mine.zip/a: has no table 'facts'" in capsys.readouterr().err


def test_a_folder_of_facts_is_found_beside_what_a_mac_or_a_person_has_added(tmp_path):
    tables = {"mine/entities.csv": ENTITIES, "mine/facts.csv": b"relation_id,subject_id,object_id\nr,a,b\n"}
    more = {"__MACOSX/mine/._facts.csv": b"\0", "mine/._facts.csv": b"\0", ".DS_Store": b"\0", "README.txt": b"Facts."}
    [fact] = read_folder(zipped(tmp_path / "mac.zip", tables | more), "s").facts
    assert fact.fact_id == "r|a|b"
