"""Measure a table on a directory of sets (retrieval: corpus/queries/qrels.jsonl; duplicates: dedup/*.jsonl).

  evaluate.py --table table.bin | --rows table.npy --vocab vocab.txt  --evaluate DIR [--bits 8] [--short]

Prints figures for the table alone and for (1-w) BM25 / best possible BM25 + w cosine. Fits nothing except, with --calibrate,
the line a + b cos of the duplicate score.
"""
import argparse, json, os, re, sys
import numpy as np
from scipy import sparse
import text

STOP = set("""a about above after again against all am an and any are as at be because been before being below between both but by can did do does
doing down during each few for from further had has have having he her here hers herself him himself his how i if in into is it its itself just me
more most my myself no nor not now of off on once only or other our ours ourselves out over own same she should so some such than that the their
theirs them themselves then there these they this those through to too under until up very was we were what when where which while who whom why will
with you your yours yourself yourselves""".split())
K1, B = .9, .4


def rows_of(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(x) for x in f if x.strip()]


class Stems:
    def __init__(self):
        import snowballstemmer
        self.stem, self.known = snowballstemmer.stemmer("english").stemWord, {}

    def __call__(self, s, split=True):
        s = text.split_names(s) if split else s
        out = []
        for w in re.findall(r"[^\W_]+", s.lower()):
            if w not in STOP:
                if w not in self.known:
                    self.known[w] = self.stem(w)
                out.append(self.known[w])
        return out


class Embed:
    """Return unit vectors of texts."""
    def __init__(self, rows, vocab):
        self.rows, self.vocab, self.known = rows, {v: i for i, v in enumerate(vocab)}, {}

    def ids(self, s):
        out = []
        for w in text.words(s):
            if w not in self.known:
                self.known[w] = [i for i in text.pieces(w, self.vocab) or () if i < len(self.rows)]
            out += self.known[w]
        return out

    def counts(self, texts):
        ids = [self.ids(t) for t in texts]
        r = np.repeat(np.arange(len(ids)), [len(x) for x in ids])
        m = sparse.csr_matrix((np.ones(len(r), np.float32), (r, np.concatenate([np.array(x, np.int64) for x in ids]))), shape=(len(ids), len(self.rows)))
        m.sum_duplicates()
        m.data = np.sqrt(m.data)
        return m

    def __call__(self, texts):
        x = self.counts(texts) @ self.rows
        return x / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-9)


def bm25(docs, queries):
    """Return scores divided by the best possible score of each query: its idf sum times (k1 + 1)."""
    ids = {}
    def mat(texts, grow):
        r, c = [], []
        for n, t in enumerate(texts):
            for w in t:
                if grow:
                    ids.setdefault(w, len(ids))
                if w in ids:
                    r.append(n), c.append(ids[w])
        m = sparse.csr_matrix((np.ones(len(r), np.float32), (r, c)), shape=(len(texts), len(ids) if not grow else max(c, default=0) + 1))
        m.sum_duplicates()
        return m
    d = mat(docs, True)
    q = mat(queries, False)
    n = d.shape[0]
    df = np.asarray((d > 0).sum(0)).ravel()
    idf = np.log(1 + (n - df + .5) / (df + .5))
    length = np.array([len(x) for x in docs], np.float32)
    d = d.tocoo()
    norm = K1 * (1 - B + B * length / max(length.mean(), 1))
    w = sparse.csr_matrix((idf[d.col] * d.data * (K1 + 1) / (d.data + norm[d.row]), (d.row, d.col)), shape=d.shape)
    q.data[:] = 1
    unknown = np.log(1 + (n + .5) / .5)  # a word of the query that no document has counts as rare
    best = np.array([sum(idf[ids[x]] if x in ids else unknown for x in set(t)) for t in queries]) * (K1 + 1)
    return (q @ w.T).toarray() / np.maximum(best, 1e-9)[:, None]


def measure(order, gold):
    hits = [x in gold for x in order[:10]]
    dcg = sum(h / np.log2(i + 2) for i, h in enumerate(hits))
    ideal = sum(1 / np.log2(i + 2) for i in range(min(10, len(gold))))
    rr = next((1 / (i + 1) for i, h in enumerate(hits) if h), 0.)
    return sum(hits[:5]) / len(gold), sum(hits) / len(gold), rr, dcg / ideal


class Retrieval:
    def __init__(self, folder, stems):
        self.docs, key = rows_of(folder + "/corpus.jsonl"), {r["query_id"]: set(r["ids"]) for r in rows_of(folder + "/qrels.jsonl")}
        self.queries = [q for q in rows_of(folder + "/queries.jsonl") if key.get(q["query_id"])]
        self.key, split = key, "cacm" not in folder
        self.pools = {}
        for p in sorted({d["pool"] for d in self.docs}):
            docs = [d for d in self.docs if d["pool"] == p]
            qs = [q for q in self.queries if q["pool"] == p]
            if qs:
                self.pools[p] = docs, qs, bm25([stems(d["text"], split) for d in docs], [stems(q["text"], split) for q in qs])

    def run(self, embed, weights):
        got = {w: [] for w in weights}
        for docs, qs, words in self.pools.values():
            cos = embed([q["text"] for q in qs]) @ embed([d["text"] for d in docs]).T
            names = [d["id"] for d in docs]
            for w in weights:
                score = (1 - w) * words + w * cos
                for n, q in enumerate(qs):
                    top = np.argsort(-score[n], kind="stable")[:10]
                    got[w].append(measure([names[i] for i in top], self.key[q["query_id"]]))
        return {w: np.mean(v, 0) for w, v in got.items()}


def auc_and_recall(score, dup, precisions=(.9, .95)):
    order = np.argsort(-score, kind="stable")
    s, d = score[order], dup[order].astype(float)
    ends = np.append(np.flatnonzero(np.diff(s)), len(s) - 1)
    tp, fp = np.cumsum(d)[ends], np.cumsum(1 - d)[ends]
    auc = (np.diff(np.append(0, fp)) * (tp + np.append(0, tp[:-1])) / 2).sum() / (tp[-1] * fp[-1])
    prec, rec = tp / (tp + fp), tp / tp[-1]
    return [auc] + [max(rec[(prec >= p) & (tp + fp >= 20)], default=0.) for p in precisions]


def jaccard(a, b):
    return len(a & b) / len(a | b) if a or b else 1.


class Duplicates:
    def __init__(self, path, stems):
        rows = [r for r in rows_of(path) if r.get("dup") is not None]
        self.a, self.b, self.dup = [r["a"] for r in rows], [r["b"] for r in rows], np.array([r["dup"] for r in rows], bool)
        self.stem = np.array([jaccard(set(stems(x)), set(stems(y))) for x, y in zip(self.a, self.b)])
        self.char = np.array([jaccard(three(x), three(y)) for x, y in zip(self.a, self.b)])

    def cosine(self, embed):
        return (embed(self.a) * embed(self.b)).sum(1)


def three(s):
    """Return three-character pieces of the words, with a space at both ends. Punctuation would only add noise."""
    s = " " + " ".join(re.findall(r"[^\W_]+", s.lower())) + " "
    return {s[i:i + 3] for i in range(max(1, len(s) - 2))}


def at(score, dup, cut):
    hit = score >= cut
    return (dup[hit].mean() if hit.any() else 0., dup[hit].sum() / dup.sum())


def calibrate(cos, d):
    """Find a, b so that the mean of the three has precision >= .93 at .72 and recall near .83 at .49."""
    best = None
    for b in np.arange(.6, 1.61, .05):
        for a in np.arange(-.6, .41, .02):
            m = (np.clip(a + b * cos, 0, 1) + d.stem + d.char) / 3
            (p, r), (p2, r2) = at(m, d.dup, .72), at(m, d.dup, .49)
            cost = max(0, .932 - p) * 10 + abs(r2 - .83) * 2 - r * .5 - p2 * .2
            if best is None or cost < best[0]:
                best = cost, a, b, p, r, p2, r2
    return best[1:]


def load(a):
    if a.table:
        import pack
        return pack.read(a.table)
    rows = np.load(a.rows)
    if a.bits:
        import pack
        q, s = pack.quantise(rows, a.bits)
        rows = q.astype(np.float32) * s[:, None]
    return rows, text.load_vocab(a.vocab), (0., 1.)


class Sets:
    def __init__(self, folder):
        stems = Stems()
        self.retrieval = {n: Retrieval(os.path.join(folder, n), stems) for n in ("gitcommits", "cosqa", "cacm") if os.path.isdir(os.path.join(folder, n))}
        self.duplicates = {n: Duplicates(os.path.join(folder, "dedup", n + ".jsonl"), stems) for n in ("sts", "mrpc_val", "mrpc_train")
                           if os.path.exists(os.path.join(folder, "dedup", n + ".jsonl"))}

    def report(self, rows, vocab, line=(0., 1.), short=False, weights=(1., .5, .4, .6, 0.), fit=False):
        embed = Embed(rows, vocab)
        out = []
        for n, s in self.retrieval.items():
            for w, m in s.run(embed, weights).items():
                out.append(f"{n:10} w={w:.1f}  R@5 {m[0]:.3f}  R@10 {m[1]:.3f}  MRR {m[2]:.3f}  nDCG {m[3]:.3f}")
        for n, d in self.duplicates.items():
            cos = d.cosine(embed)
            if fit and n == "sts":
                print("calibration a, b, P.72, R.72, P.49, R.49:", [round(float(x), 4) for x in calibrate(cos, d)])
            mean = (np.clip(line[0] + line[1] * cos, 0, 1) + d.stem + d.char) / 3
            for label, score in (("cosine", cos), ("mean", mean)):
                x = auc_and_recall(score, d.dup)
                p, q = at(score, d.dup, .72), at(score, d.dup, .49)
                out.append(f"{n:10} {label:6} AUC {x[0]:.3f}  R@P.90 {x[1]:.3f}  R@P.95 {x[2]:.3f}  at .72 P {p[0]:.3f} R {p[1]:.3f}  at .49 P {q[0]:.3f} R {q[1]:.3f}")
        print("\n".join(out), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--table"), p.add_argument("--rows", nargs="*"), p.add_argument("--vocab"), p.add_argument("--evaluate", required=True)
    p.add_argument("--bits", type=int, default=8), p.add_argument("--calibrate", action="store_true"), p.add_argument("--weights", default="1,.5,.4,.6,0")
    p.add_argument("--k1", type=float, default=K1), p.add_argument("--b", type=float, default=B)
    a = p.parse_args()
    globals().update(K1=a.k1, B=a.b)
    sets = Sets(a.evaluate)
    weights = [float(x) for x in a.weights.split(",")]
    for one in a.rows or [None]:
        a.rows = one
        print("==", one or a.table)
        rows, vocab, line = load(a)
        sets.report(rows, vocab, line, weights=weights, fit=a.calibrate)


if __name__ == "__main__":
    main()
