"""Turn fetched packages into (query, document) pairs.

  mine.py pairs  --raw DIR --out pairs.jsonl [--jobs 2]
  mine.py encode --pairs FILE... --vocab vocab.txt --out pairs.npz [--avoid DIR]

A line of pairs.jsonl: [kind, package, query, document]. encode drops repeated queries, repeated documents and everything that
equals a text of the directory to avoid (an evaluation set must not be trained on), and turns words into entry numbers.
"""
import argparse, ast, collections, glob, hashlib, json, multiprocessing, os, random, re, sys, textwrap, warnings
import fetch, text

PER_PACKAGE = 4000
PER_KIND = {"test": 500, "pycmt": 600, "rscmt": 400, "jscmt": 400, "mdseq": 500, "logseq": 500, "rsname": 500}
BODY = 1400  # limit on characters of a document: about the size of a learning
SKIP = re.compile(r"(^|/)(_?vendor|vendored|_vendored_packages|third_?party|extern|node_modules|site-packages|licen[sc]es?|locale|fixtures|testdata|min)(/|$)|"
                  r"\.min\.|_pb2|\.generated\.|bundle", re.I)
LICENCE = re.compile(r"permission is hereby granted|redistribution and use|apache license|all rights reserved|warranties|copyright \(c\)", re.I)


def flat(s):
    return " ".join(s.split())


def first_paragraph(doc):
    head, _, rest = doc.strip().partition("\n\n")
    return flat(head), rest.strip()


def enough(s, low=3, high=60):
    return low <= len(s.split()) <= high


def name_words(name):
    return " ".join(text.split_names(name).split()).lower()


# Python

def python(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from python_class(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from python_function(node, lines)
    yield from comments(lines, "#", "pycmt")


def python_class(node):
    doc = ast.get_docstring(node) or ""
    head, rest = first_paragraph(doc)
    if enough(head) and enough(rest, 8, 10 ** 6):
        yield "pydoc", head, rest[:BODY]
    if enough(head, 4) and len(text.split_names(node.name).split()) > 1:
        yield "pyname", name_words(node.name), head


def python_function(node, lines):
    doc = ast.get_docstring(node) or ""
    head, rest = first_paragraph(doc)
    body = node.body[1:] if doc else node.body
    first = lines[node.lineno - 1:(node.body[0].lineno - 1) or node.lineno]
    signature = textwrap.dedent("\n".join(first)) if node.body[0].lineno > node.lineno else lines[node.lineno - 1].strip()
    code = textwrap.dedent("\n".join(lines[body[0].lineno - 1:node.end_lineno])) if body else ""
    short = node.name.strip("_")
    if node.name.startswith("test"):
        if enough(name_words(node.name), 3, 20) and len(code) > 40:
            yield "test", name_words(node.name).removeprefix("test "), (flat(doc) + "\n" + code)[:BODY]
        return
    if not node.name.startswith("__") and enough(head, 3) and code:
        inside = rest if len(node.name) % 2 else ""
        yield "pycode", head, (signature + "\n" + inside + "\n" + code)[:BODY]
    if not node.name.startswith("__") and len(name_words(short).split()) > 1 and len(doc) + len(code) > 60:
        hidden = (flat(doc) + "\n" + code).replace(node.name, " ")
        yield "pyname", name_words(short), hidden[:BODY]


def comments(lines, mark, kind):
    """Yield pairs: a comment on its own lines -> the code below it."""
    i = 0
    while i < len(lines):
        run = []
        while i < len(lines) and lines[i].strip().startswith(mark + " "):
            run.append(lines[i].strip()[len(mark):].strip())
            i += 1
        if not run:
            i += 1
            continue
        block = []
        while i + len(block) < len(lines) and len(block) < 8:
            line = lines[i + len(block)]
            if not line.strip() or line.strip().startswith(mark):
                break
            block.append(line)
        said, code = flat(" ".join(run)), textwrap.dedent("\n".join(block))
        if enough(said, 4, 40) and len(code) > 40 and not re.search(r"[=;{}]|noqa|type:|pragma|pylint|coding", said):
            yield kind, said, code[:BODY]


# Rust, JavaScript, TypeScript

def rust(source):
    lines = source.splitlines()
    i = 0
    while i < len(lines):
        if not lines[i].strip().startswith("///"):
            m = re.match(r"\s*(?:async )?fn (\w+)\(\)", lines[i])
            if m and i and "test" in lines[i - 1]:
                body = item(lines, i)
                if enough(name_words(m.group(1)), 3, 20) and len(body) > 60:
                    yield "test", name_words(m.group(1)), body.replace(m.group(1), "")
            i += 1
            continue
        doc = []
        while i < len(lines) and lines[i].strip().startswith("///"):
            doc.append(lines[i].strip()[3:].strip())
            i += 1
        while i < len(lines) and lines[i].strip().startswith("#["):
            i += 1
        head, rest = first_paragraph(prose_only("\n".join(doc)))
        body = item(lines, i)
        if enough(head) and len(body) > 30:
            yield "rs", head, ((rest + "\n" if len(body) % 2 else "") + body)[:BODY]
            if enough(rest, 10, 10 ** 6):
                yield "rsdoc", head, rest[:BODY]
        m = re.search(r"\b(?:fn|struct|enum|trait) (\w+)", body[:200])
        if m and len(name_words(m.group(1)).split()) > 1 and enough(head, 4):
            yield "rsname", name_words(m.group(1)), (flat(" ".join(doc)) + "\n" + body).replace(m.group(1), " ")[:BODY]
    yield from comments(lines, "//", "rscmt")


def prose_only(doc):
    """Remove fenced examples and link targets."""
    doc = re.sub(r"(?s)```.*?(```|$)", "", doc)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", doc)


def item(lines, i):
    """Return an item up to the line that closes its braces, at most 30 lines."""
    out, depth = [], 0
    for line in lines[i:i + 30]:
        out.append(line)
        depth += line.count("{") - line.count("}")
        if depth <= 0 and re.search(r"[;},]\s*$", line):
            break
    return textwrap.dedent("\n".join(out))[:BODY]


def script(source):
    if max(map(len, source.splitlines() or [""])) > 1500:
        return  # minified
    for m in re.finditer(r"/\*\*(.*?)\*/[ \t]*\n", source, re.S):
        doc = "\n".join(re.sub(r"^\s*\*? ?", "", x) for x in m.group(1).splitlines())
        plain, _, tags = doc.partition("\n@")
        head, rest = first_paragraph(prose_only(plain))
        body = item(source[m.end():m.end() + 2500].splitlines(), 0)
        if enough(head) and len(body) > 20 and not head.startswith("@"):
            yield "js", head, (body + ("\n" + tags if len(body) % 2 else ""))[:BODY]
            if enough(rest, 10, 10 ** 6):
                yield "jsdoc", head, rest[:BODY]
    lines = source.splitlines()
    yield from comments(lines, "//", "jscmt")
    for n, line in enumerate(lines):
        m = re.match(r"""\s*(?:it|test)\(\s*['"`](.{12,120}?)['"`],""", line)
        if m and enough(m.group(1), 3, 20):
            yield "test", m.group(1), "\n".join(lines[n + 1:n + 15])[:BODY]


# Prose

def sections(source):
    """Yield (heading path, text) of Markdown and reStructuredText."""
    path, buf, fence = [], [], False
    lines = source.splitlines()
    n = 0
    while n < len(lines):
        line = lines[n]
        under = lines[n + 1].strip() if n + 1 < len(lines) else ""
        if line.strip().startswith("```"):
            fence = not fence
        m = re.match(r"(#{1,6})\s+(.*)", line)
        rst = re.fullmatch(r"([=\-~^\"'#*+])\1{3,}", under) and line.strip() and len(under) >= len(line.strip()) - 1 and not line.startswith((" ", "-", "="))
        if not fence and (m or rst):
            if buf:
                yield list(path), "\n".join(buf)
            buf = []
            level = len(m.group(1)) if m else {"=": 1, "-": 2, "~": 3, "^": 4}.get(under[0], 3)
            title = (m.group(2) if m else line).strip(" #`*")
            path = path[:level - 1] + [title]
            n += 2 if not m else 1
            continue
        buf.append(line)
        n += 1
    if buf:
        yield list(path), "\n".join(buf)


def tidy(s):
    s = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", s)
    s = re.sub(r":\w+:`~?([^`<]*)[^`]*`", r"\1", s)
    s = re.sub(r"https?://\S+|<[^>]+>", " ", s)
    return s.replace("`", "").replace("**", "")


def prose(source):
    for path, body in sections(source):
        parts = [tidy(p).strip() for p in re.split(r"\n\s*\n", body)]
        parts = [p for p in parts if enough(p, 12, 400) and not LICENCE.search(p)]
        title = " ".join(path[-2:])
        if parts and enough(title, 2, 20):
            yield "md", tidy(title), parts[0][:BODY]
        for a, b in zip(parts, parts[1:]):
            if not a.lstrip().startswith(("..", "|", ">>>", "$")) and not b.lstrip().startswith(("..", "|", ">>>", "$")):
                yield "mdseq", a[:600], b[:BODY]
        for p in parts[:6]:
            head, dot, rest = flat(p).partition(". ")
            if dot and enough(head, 5, 30) and enough(rest, 8, 300):
                yield "sent", head, rest[:BODY]


def changelog(source):
    """Yield pairs from the entries of a release: first sentence -> the rest, title -> text, entry -> next entry."""
    for path, body in sections(source):
        entries = [flat(tidy(e)) for e in re.split(r"(?m)^\s{0,3}[*\-+•]\s+", body)[1:]]
        entries = [re.sub(r"\(?#\d+\)?|\bby @\S+|\b[0-9a-f]{7,40}\b|@\w+", "", e).strip(" .,-") for e in entries]
        entries = [e for e in entries if enough(e, 5, 200)]
        for e in entries:
            head, dot, rest = e.partition(". ")
            if not (dot and enough(head, 4, 25) and enough(rest, 5, 300)):
                head, dot, rest = e.partition(": ")
            if dot and enough(head, 3, 25) and enough(rest, 5, 300):
                yield "log", head, rest[:BODY]
        for a, b in zip(entries[::2], entries[1::2]):
            yield "logseq", a[:500], b[:500]


def of_file(path, data):
    if SKIP.search(path) or len(data) > 600_000:
        return
    try:
        source = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    base = path.rsplit("/", 1)[-1].lower()
    try:
        if base.endswith((".py", ".pyi")):
            yield from python(source)
        elif base.endswith(".rs"):
            yield from rust(source)
        elif base.endswith((".ts", ".js", ".mjs", ".tsx", ".jsx", ".mts", ".cts")) and len(data) < 300_000:
            yield from script(source)
        elif re.match(r"(changelog|changes|history|news|releases?|whatsnew)", base):
            yield from changelog(source)
            yield from prose(source)
        elif base.endswith((".md", ".rst", ".mdx")) or base.startswith("readme"):
            yield from prose(source)
    except (SyntaxError, ValueError, RecursionError, IndexError, MemoryError):
        return


def capped(found, rng):
    """Limit the pairs of one package and of each kind, because tests and comments would outnumber documented functions."""
    rng.shuffle(found)
    count, out = collections.Counter(), []
    for p in found:
        count[p[0]] += 1
        if count[p[0]] <= PER_KIND.get(p[0], PER_PACKAGE):
            out.append(p)
    return out[:PER_PACKAGE]


def of_package(job):
    raw, kind, name, file = job
    out, seen = [], set()
    with open(os.path.join(raw, file), "rb") as f:
        blob = f.read()
    for path, data in fetch.members(blob):
        for k, q, d in of_file(path, data):
            if (k, q) not in seen:
                seen.add((k, q))
                out.append((k, q, d))
    out = capped(out, random.Random(name))
    return [[k, kind + ":" + name, q, d] for k, q, d in out]


def pairs(a):
    jobs = []
    for line in open(os.path.join(a.raw, "manifest.tsv"), encoding="utf-8"):
        kind, name, _, _, _, file = line.rstrip("\n").split("\t")
        jobs.append((a.raw, kind, name, file))
    count = collections.Counter()
    with open(a.out, "w", encoding="utf-8") as f, multiprocessing.Pool(a.jobs) as pool:
        for got in pool.imap_unordered(of_package, jobs, 4):
            for p in got:
                count[p[0]] += 1
                f.write(json.dumps(p, ensure_ascii=True) + "\n")
    print(sum(count.values()), dict(count.most_common()), file=sys.stderr)


# Filter and encode

def normal(s):
    return " ".join(re.findall(r"[a-z0-9]+", s.lower()))


def key(s):
    return hashlib.blake2b(s.encode(), digest_size=8).digest()


def avoided(folder):
    """Return keys of every evaluation text: whole, first 150 normalised characters, first line, first paragraph of its docstring."""
    out = set()
    for path in glob.glob(os.path.join(folder, "**", "*.jsonl"), recursive=True) if folder else []:
        for line in open(path, encoding="utf-8"):
            row = json.loads(line)
            for s in (row.get(k) for k in ("text", "a", "b")):
                for part in faces(s) if isinstance(s, str) else ():
                    out.add(key(part))
    return out


def faces(s):
    n = normal(s)
    out = [n, n[:150], normal(s.strip().partition("\n")[0])]
    m = re.search(r'"""(.*?)(?:\n\s*\n|""")', s, re.S)
    if m:
        out.append(normal(m.group(1)))
    return [x for x in out if len(x) >= 12]


def encode(a):
    import numpy as np
    bad, seen_q, seen_d = avoided(a.avoid), set(), set()
    tok = text.fast_tokenizer(a.vocab)
    vocab = text.load_vocab(a.vocab)
    keep = np.array([text.has_row(v) for v in vocab])
    kinds, packs, dropped = {}, {}, collections.Counter()
    k_of, p_of, qs, ds = [], [], [], []

    def flush(batch):
        both = [text.split_names(t) for row in batch for t in row[2:4]]
        enc = tok.encode_batch_fast(both, add_special_tokens=False)
        for n, row in enumerate(batch):
            q, d = (np.array(enc[2 * n + s].ids, np.uint16) for s in (0, 1))
            q, d = q[keep[q]][:256], d[keep[d]][:256]
            if len(q) and len(d):
                k_of.append(kinds.setdefault(row[0], len(kinds)))
                p_of.append(packs.setdefault(row[1], len(packs)))
                qs.append(q), ds.append(d)

    batch = []
    for file in a.pairs:
        for line in open(file, encoding="utf-8"):
            row = json.loads(line)
            nq, nd = normal(row[2]), normal(row[3])
            kq, kd = key(row[0][:2] + nq), key(nd)
            if not nq or not nd or kq in seen_q or kd in seen_d:
                dropped["repeated"] += 1
                continue
            if bad and any(key(x) in bad for s in row[2:4] for x in faces(s)):
                dropped["evaluation"] += 1
                continue
            seen_q.add(kq), seen_d.add(kd)
            batch.append(row)
            if len(batch) == 20000:
                flush(batch)
                batch = []
    flush(batch)

    def ragged(v):
        return np.concatenate(v), np.concatenate([[0], np.cumsum([len(x) for x in v])])

    q, qo = ragged(qs)
    d, do = ragged(ds)
    np.savez(a.out, q=q, qo=qo, d=d, do=do, kind=np.array(k_of, np.int16), pack=np.array(p_of, np.int32),
             kinds=np.array(list(kinds)), packs=np.array(list(packs)))
    print(len(qs), "pairs;", dict(dropped), {k: k_of.count(i) for k, i in kinds.items()}, file=sys.stderr)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    s = p.add_subparsers(required=True)
    x = s.add_parser("pairs")
    x.add_argument("--raw", required=True), x.add_argument("--out", required=True), x.add_argument("--jobs", type=int, default=2)
    x.set_defaults(f=pairs)
    x = s.add_parser("encode")
    x.add_argument("--pairs", required=True, nargs="+"), x.add_argument("--vocab", required=True), x.add_argument("--out", required=True)
    x.add_argument("--avoid")
    x.set_defaults(f=encode)
    a = p.parse_args()
    a.f(a)


if __name__ == "__main__":
    main()
