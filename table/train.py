"""Train the rows: symmetric InfoNCE over (query, document) pairs, with numpy and scipy only.

  train.py --pairs pairs.npz... --init init.npy --out table.npy [--steps 150] [--seed 1] ...
"""
import argparse, sys, time
import numpy as np
from scipy import sparse

GROUPS = {"code": ("pycode", "pyname", "pycmt", "rs", "rsname", "rscmt", "js", "jscmt", "test"),
          "prose": ("pydoc", "rsdoc", "jsdoc", "md", "mdseq", "sent", "log", "logseq"),
          "wordnet": ("wn", "wnex", "wnexex", "wnup"), "thesaurus": ("moby",), "verses": ("verse",)}
PYTHON = ("pycode", "pyname", "pycmt")


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pairs", required=True, nargs="+")
    for k in ("init", "out"):
        p.add_argument("--" + k, required=True)
    p.add_argument("--steps", type=int, default=150), p.add_argument("--batch", type=int, default=4096)
    p.add_argument("--rate", type=float, default=.005), p.add_argument("--scale", type=float, default=20.)
    p.add_argument("--dropout", type=float, default=.1), p.add_argument("--seed", type=int, default=1)
    p.add_argument("--shares", default="code=.55,prose=.3,wordnet=.15", help="share of batches of each group")
    p.add_argument("--kinds", default="", help="use a kind at this share, as in pycmt=.5,mdseq=.3")
    p.add_argument("--run", type=int, default=64, help="number of neighbours in a batch from one package")
    p.add_argument("--how-to", type=float, default=.35, help="share of Python queries that get words of a web search")
    p.add_argument("--words", default="", help="numbers of the entries python,how,to,in,using,get")
    p.add_argument("--without", default="", help="packages to leave out, as in pypi:name,npm:name")
    p.add_argument("--teacher", help="npz with teacher vectors"), p.add_argument("--teach", type=float, default=0.)
    return p.parse_args()


class Pairs:
    """The concatenated files of mine.py encode."""
    def __init__(self, paths, without=()):
        files = [np.load(p) for p in paths]
        self.q, self.d = (np.concatenate([z[k] for z in files]) for k in ("q", "d"))
        self.qo, self.do = (joined([z[k] for z in files]) for k in ("qo", "do"))
        self.kinds = sorted({k for z in files for k in z["kinds"]})
        packs = {p: i for i, p in enumerate(sorted({p for z in files for p in z["packs"]}))}
        self.kind = np.concatenate([np.array([self.kinds.index(k) for k in z["kinds"]])[z["kind"]] for z in files])
        self.pack = np.concatenate([np.array([packs[p] for p in z["packs"]])[z["pack"]] for z in files])
        self.use = ~np.isin(self.pack, [packs[p] for p in without if p in packs])

    def groups(self, rng, shares):
        """Return row numbers of each group, with packages in runs, so that a batch has neighbours of the same package."""
        name = np.array([next((g for g, ks in GROUPS.items() if k in ks), "none") for k in self.kinds])[self.kind]
        part = np.array([shares.get(k, 1.) for k in self.kinds])[self.kind]
        ok = (rng.random(len(part)) < part) & self.use
        return {g: np.flatnonzero((name == g) & ok) for g in GROUPS}


def joined(offsets):
    out = [offsets[0]]
    for o in offsets[1:]:
        out.append(o[1:] + out[-1][-1])
    return np.concatenate(out)


def in_runs(rows, pack, size, rng):
    """Shuffle, then bring rows of one package together in runs of the given size, and shuffle the runs."""
    rows = rng.permutation(rows)
    rows = rows[np.argsort(pack[rows], kind="stable")]
    cuts = np.arange(0, len(rows), size)
    return np.concatenate([rows[c:c + size] for c in rng.permutation(cuts)])


def matrix(ids, off, rows, vocab, dropout, rng, extra=None):
    """Return sparse rows of sqrt(count)."""
    lens = off[rows + 1] - off[rows]
    at = np.repeat(off[rows] - np.concatenate([[0], np.cumsum(lens)[:-1]]), lens) + np.arange(lens.sum())
    r, c = np.repeat(np.arange(len(rows)), lens), ids[at].astype(np.int64)
    if dropout:
        k = rng.random(len(r)) >= dropout
        r, c = r[k], c[k]
    if extra is not None:
        r, c = np.concatenate([r, extra[0]]), np.concatenate([c, extra[1]])
    m = sparse.csr_matrix((np.ones(len(r), np.float32), (r, c)), shape=(len(rows), vocab))
    m.sum_duplicates()
    m.data = np.sqrt(m.data)
    return m


def how_to(python_rows, share, words, rng):
    """Return words that users add to a web search: the language and two small words."""
    rows = np.flatnonzero(python_rows & (rng.random(len(python_rows)) < share))
    r = np.repeat(rows, 3)
    c = np.stack([np.full(len(rows), words[0])] + [rng.choice(words[1:], len(rows)) for _ in range(2)], 1).ravel() if len(rows) else r
    return r, c


def unit(x):
    n = np.sqrt((x * x).sum(1, keepdims=True)) + 1e-6
    return x / n, n


def back_unit(g, u, n):
    return (g - u * (g * u).sum(1, keepdims=True)) / n


def loss_and_gradient(qn, dn, scale):
    """Compute both softmaxes from one exp: cosines are bounded, so exp(s (cos - 1)) needs no maximum. In place, because the matrices are large."""
    b = len(qn)
    cos = qn @ dn.T
    e = cos - 1
    e *= np.float32(scale)
    np.exp(e, out=e)
    rq, rd = e.sum(1), e.sum(0)
    loss = (np.log(rq).mean() + np.log(rd).mean()) / 2 - scale * (cos.diagonal().mean() - 1)
    e *= ((.5 / b) / rq)[:, None] + ((.5 / b) / rd)[None, :]
    e[np.arange(b), np.arange(b)] -= 1 / b
    gscale = float(np.vdot(e, cos))
    e *= np.float32(scale)
    return loss, e @ dn, e.T @ qn, gscale


class Adam:
    def __init__(self, shape, b1=.9, b2=.995):
        self.m, self.v, self.b1, self.b2, self.t = np.zeros(shape, np.float32), np.zeros(shape, np.float32), b1, b2, 0

    def step(self, x, g, rate):
        self.t += 1
        self.m *= self.b1
        self.m += (1 - self.b1) * g
        self.v *= self.b2
        self.v += (1 - self.b2) * g * g
        c1, c2 = 1 - self.b1 ** self.t, 1 - self.b2 ** self.t
        x -= (rate / c1) * self.m / (np.sqrt(self.v / c2) + 1e-8)


def teach_gradient(e, t, rng, size=1536):
    """Compute the gradient of distillation: the softmax of the student over other texts should match the teacher's (temperature .05 for both)."""
    rows = rng.choice(len(t["off"]) - 1, size, replace=False)
    x = matrix(t["ids"], t["off"], rows, len(e), 0, rng)
    u, n = unit(x @ e)
    want = t["vec"][rows].astype(np.float32)
    s, w = (u @ u.T) * 20, (want @ want.T) * 20
    for m in (s, w):
        np.fill_diagonal(m, -1e9)
    p, r = np.exp(s - s.max(1, keepdims=True)), np.exp(w - w.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    r /= r.sum(1, keepdims=True)
    g = (p - r) * (20 / size)
    return x.T @ back_unit((g + g.T) @ u, u, n)


def main():
    a = options()
    rng = np.random.default_rng(a.seed)
    share = {k: float(v) for k, v in (x.split("=") for x in a.shares.split(","))}
    part = {k: float(v) for k, v in (x.split("=") for x in a.kinds.split(",") if x)}
    data = Pairs(a.pairs, a.without.split(","))
    words = [int(x) for x in a.words.split(",")] if a.words else []
    is_python = np.isin(np.array(data.kinds)[data.kind], PYTHON)
    groups = data.groups(rng, part)
    queue = {g: in_runs(groups[g], data.pack, a.run, rng) for g in share}
    used = {g: 0 for g in share}
    teacher = None
    if a.teacher:
        z = np.load(a.teacher)
        teacher = {k: z[k] for k in ("ids", "off", "vec")}
    e = np.load(a.init).astype(np.float32).copy()
    fixed = ~e.any(1)
    adam, s_adam = Adam(e.shape), Adam(1)
    log_scale = np.array([np.log(a.scale)], np.float32)
    start, names = time.time(), list(share)
    prob = np.array([share[g] for g in names]) / sum(share.values())
    for step in range(a.steps):
        g = names[rng.choice(len(names), p=prob)]
        if used[g] + a.batch > len(queue[g]):
            queue[g], used[g] = in_runs(groups[g], data.pack, a.run, rng), 0
        rows = queue[g][used[g]:used[g] + a.batch]
        used[g] += a.batch
        extra = how_to(is_python[rows], a.how_to, words, rng) if words and g == "code" else None
        xq = matrix(data.q, data.qo, rows, len(e), a.dropout, rng, extra)
        xd = matrix(data.d, data.do, rows, len(e), a.dropout, rng)
        qn, nq = unit(xq @ e)
        dn, nd = unit(xd @ e)
        scale = float(np.exp(log_scale[0]))
        loss, gq, gd, gs = loss_and_gradient(qn, dn, scale)
        grad = xq.T @ back_unit(gq, qn, nq) + xd.T @ back_unit(gd, dn, nd)
        if teacher and a.teach:
            grad += a.teach * teach_gradient(e, teacher, rng)
        grad[fixed] = 0
        rate = a.rate * min(1, (step + 1) / 20) * (1 - step / a.steps)
        adam.step(e, grad, rate)
        s_adam.step(log_scale, np.float32(gs * scale), rate)
        log_scale = np.minimum(log_scale, np.float32(np.log(60)))
        if step % 25 == 0 or step + 1 == a.steps:
            print(f"{step} {g} loss {loss:.3f} scale {scale:.1f} {time.time() - start:.0f}s", file=sys.stderr, flush=True)
    np.save(a.out, e)


if __name__ == "__main__":
    main()
