"""Download the packages of sources.tsv, keep those under a permissive licence, write a manifest.

  fetch.py --out DIR --pypi URL --npm URL --crates URL [--sources sources.tsv]

Lines of sources.tsv: kind, name, version, licence, separated by tabs ("-" = newest, unknown). The manifest has the same
format and names what was found, so that a manifest can become the next sources.tsv.
A package must pass two checks: its metadata, and the licence files at the top of its archive.
"""
import argparse, concurrent.futures as futures, io, json, os, re, sys, tarfile, urllib.parse, urllib.request, zipfile

MAX_SDIST, MAX_WHEEL, MAX_OTHER = 16_000_000, 24_000_000, 12_000_000
ALLOWED = re.compile(
    r"\b(mit|apache|bsd|isc|psf|psfl|python software foundation|python-2\.0|unlicense|cc0|0bsd|zlib|zpl|hpnd|cnri|"
    r"blueoak|boost|bsl-1\.0|mit-0|mit-cmu|public domain|modern variant)\b", re.I)
REFUSED = re.compile(
    r"\b(a?gpl|lgpl|gnu|mpl|mozilla public|epl|eupl|cddl|cc-by|creative commons attribution|commons clause|busl|"
    r"business source|elastic|sspl|server side public|non-?commercial|proprietary|polyform)", re.I)
TEXTS = [  # phrases that occur only in the text of the licence
    ("Apache-2.0", "Apache License"), ("Apache-2.0", "apache.org/licenses"), ("MIT", "Permission is hereby granted, free of charge"),
    ("BSD", "Redistribution and use in source and binary forms"), ("ISC", "Permission to use, copy, modify, and/or distribute"),
    ("ISC", "Permission to use, copy, modify, and distribute"), ("PSF-2.0", "PYTHON SOFTWARE FOUNDATION LICENSE"),
    ("Unlicense", "This is free and unencumbered software"), ("CC0-1.0", "CC0 1.0 Universal"), ("Zlib", "This software is provided 'as-is'"),
    ("BSL-1.0", "Boost Software License"), ("ZPL-2.1", "Zope Public License")]
COPYLEFT = ["GNU GENERAL PUBLIC LICENSE", "GNU LESSER GENERAL", "GNU LIBRARY GENERAL", "GNU AFFERO", "Mozilla Public License", "Commons Clause",
            "Business Source License", "Elastic License", "Server Side Public", "PolyForm", "NonCommercial", "Eclipse Public License"]


def get(url, tries=3):
    for n in range(tries):
        try:
            req = urllib.request.Request(url, headers={"User-Agent": "static-table-fetch"})
            with urllib.request.urlopen(req, timeout=90) as r:
                return r.read()
        except Exception:
            if n + 1 == tries:
                raise


def pypi(a, name, version):
    """Select the sdist, which has tests, docs and the changelog; if it is large, the smallest wheel."""
    d = json.loads(get(f"{a.pypi}/pypi/{name}/json"))
    info, version = d["info"], d["info"]["version"] if version == "-" else version
    there = d["urls"] if version == info["version"] else d["releases"][version]  # some mirrors do not serve single versions
    said = [info.get("license_expression") or "", (info.get("license") or "")[:200]]
    said += [c.split("::")[-1] for c in info.get("classifiers") or [] if c.startswith("License ::")]
    files = [u for u in there if u["packagetype"] == "sdist" and u["filename"].endswith((".gz", ".zip")) and u["size"] < MAX_SDIST]
    files = files or sorted((u for u in there if u["packagetype"] == "bdist_wheel" and u["size"] < MAX_WHEEL), key=lambda u: u["size"])
    if not files:
        raise ValueError("no file within the size limit")
    # a mirror may give an address relative to its file list
    return version, " / ".join(s for s in said if s), urllib.parse.urljoin(f"{a.pypi}/simple/{name}/", files[0]["url"])


def npm(a, name, version):
    d = json.loads(get(f"{a.npm}/{urllib.parse.quote(name, safe='@')}"))
    v = d["versions"][d["dist-tags"]["latest"] if version == "-" else version]
    lic = v.get("license") or v.get("licenses") or d.get("license") or ""
    return v["version"], lic if isinstance(lic, str) else json.dumps(lic), v["dist"]["tarball"]


def crate(a, name, version):
    n = name.lower()
    place = f"{len(n)}/{n}" if len(n) < 3 else f"3/{n[0]}/{n}" if len(n) == 3 else f"{n[:2]}/{n[2:4]}/{n}"
    if version == "-":
        rows = [json.loads(x) for x in get(f"{a.crates}/{place}").decode().splitlines()]
        rows = [r for r in rows if not r["yanked"] and "-" not in r["vers"]] or rows
        version = max(rows, key=lambda r: [int(x) if x.isdigit() else 0 for x in re.split(r"[.+-]", r["vers"])[:3]])["vers"]
    dl = json.loads(get(f"{a.crates}/config.json"))["dl"]
    url = dl.format(crate=name, version=version) if "{crate}" in dl else f"{dl}/{name}/{version}/download"
    return version, "", url  # a crate's licence is read from its Cargo.toml


def members(blob, wanted=lambda path: True):
    """Yield (path below the top folder of the archive, bytes) of the wanted regular files."""
    if blob[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(blob)) as z:
            for i in z.infolist():
                if not i.is_dir() and i.file_size < 2_000_000 and wanted(i.filename):
                    yield i.filename, z.read(i)
        return
    with tarfile.open(fileobj=io.BytesIO(blob), mode="r:*") as t:
        for m in t:
            path = m.name.partition("/")[2]
            if m.isfile() and m.size < 2_000_000 and wanted(path):
                yield path, t.extractfile(m).read()


def says_licence(path):
    """Report whether a path is a licence file of the package itself, not of bundled code, or the Cargo.toml of a crate."""
    base = path.rsplit("/", 1)[-1].lower()
    top = path.count("/") == 0 or ".dist-info/" in path or re.fullmatch(r"[^/]+-[0-9][^/]*/[^/]+", path)
    return path == "Cargo.toml" or bool(top and re.match(r"(un)?licen[sc]e|copying", base) and "bundled" not in base and "third" not in base)


def licence_files(blob):
    return [(p, d.decode("utf-8", "replace")) for p, d in members(blob, says_licence)]


def cargo_licence(files):
    for path, data in files:
        m = re.search(r'(?m)^license\s*=\s*"([^"]+)"', data) if path == "Cargo.toml" else None
        if m:
            return m.group(1)
    return ""


def judge(said, files):
    """Return the licence, or raise an error. "MIT OR GPL-2.0" passes as MIT; "MIT AND GPL-2.0" fails."""
    if not said:
        raise ValueError("no licence in the metadata")
    choice = re.search(r"\bOR\b", said) and not re.search(r"\bAND\b", said)
    if REFUSED.search(said) and not choice:
        raise ValueError("refused by metadata: " + said[:60])
    if not ALLOWED.search(said):
        raise ValueError("not known as permissive: " + said[:60].replace("\n", " "))
    found = []
    for path, text in files:
        head = " ".join(text.split())
        if any(c.lower() in head.lower() for c in COPYLEFT) and not choice:
            raise ValueError(f"refused by {path}")
        found += [k for k, phrase in TEXTS if phrase.lower() in head.lower() and k not in found]
    if not found:
        raise ValueError("no licence file with a known text")
    return "/".join(dict.fromkeys(found))


def one(a, kind, name, version):
    version, said, url = {"pypi": pypi, "npm": npm, "crate": crate}[kind](a, name, version)
    path = os.path.join(a.out, kind + "__" + name.replace("/", "+") + "__" + version + ".bin")
    if not os.path.exists(path):
        blob = get(url)
        if len(blob) > (MAX_WHEEL if kind == "pypi" else MAX_OTHER):
            raise ValueError("too large")
    else:
        blob = open(path, "rb").read()
    files = licence_files(blob)
    if kind == "crate":
        said = cargo_licence(files)
    files = [f for f in files if f[0] != "Cargo.toml"]
    licence = judge(said, files)
    with open(path, "wb") as f:
        f.write(blob)
    owner = copyright_line(files)
    return [kind, name, version, licence, owner, os.path.basename(path)]


def copyright_line(files):
    for _, text in files:
        for line in text.splitlines():
            line = " ".join(line.split()).strip("*# ")
            if re.match(r"(?i)(copyright )?(\(c\)|copyright|©) .*\w", line) and "[yyyy]" not in line and "owner" not in line.lower() and len(line) < 200:
                return line
    return "-"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    p.add_argument("--sources", default=os.path.join(here, "sources.tsv"))
    p.add_argument("--out", required=True)
    for k in ("pypi", "npm", "crates"):
        p.add_argument("--" + k, required=True, help="address of this registry")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    wanted = [line.rstrip("\n").split("\t") for line in open(a.sources, encoding="utf-8") if line.strip() and line[0] != "#"]
    done, refused = [], []

    def work(row):
        try:
            return one(a, *row[:3])
        except Exception as e:
            return [row[0], row[1], "refused", str(e)[:100].replace("\n", " ")]

    with futures.ThreadPoolExecutor(8) as pool:
        for r in pool.map(work, wanted):
            (refused if r[2] == "refused" else done).append(r)
    for name, rows in (("manifest.tsv", done), ("refused.tsv", refused)):
        with open(os.path.join(a.out, name), "w", encoding="utf-8") as f:
            f.writelines("\t".join(r) + "\n" for r in rows)
    print(f"{len(done)} packages kept, {len(refused)} refused", file=sys.stderr)


if __name__ == "__main__":
    main()
