"""Pack trained rows into the file that the program maps into memory (format: README.md).

  pack.py --rows table.npy... --vocab vocab.txt --pairs pairs.npz... --out table.bin [--bits 8] [--least 1] [--a 0 --b 1]
"""
import argparse, hashlib, struct
import numpy as np
import text

MAGIC = b"SPRAGTB1"
HEADER = struct.Struct("<8s6I2f16s")


def quantise(rows, bits):
    """Quantise with one scale per row; 8 bits: -127..127, 4 bits: -7..7."""
    top = 127 if bits == 8 else 7
    s = np.abs(rows).max(1) / top
    if bits == 4:  # some clipping costs less than coarse steps: take the best of several scales for each row
        best, err = s.copy(), np.full(len(rows), np.inf)
        for f in (1, .9, .8, .7, .6, .5):
            t = s * f
            q = np.clip(np.round(rows / np.maximum(t, 1e-12)[:, None]), -top, top)
            e = ((q * t[:, None] - rows) ** 2).sum(1)
            best, err = np.where(e < err, t, best), np.minimum(e, err)
        s = best
    q = np.clip(np.round(rows / np.maximum(s, 1e-12)[:, None]), -top, top).astype(np.int8)
    return q, s.astype(np.float32)


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def padded(b):
    return b + b"\0" * (-len(b) % 64)


def order(vocab, rows, counts, least):
    """Return the order of entries: those with a row first, by frequency, so that common words share pages; then the others."""
    has = np.array([text.has_row(v) for v in vocab]) & rows.any(1) & (counts >= least)
    first = [i for i in np.argsort(-counts, kind="stable") if has[i]]
    return first, [i for i in range(len(vocab)) if not has[i]]


def pack(rows, vocab, counts, bits, least, line):
    first, rest = order(vocab, rows, counts, least)
    words = [vocab[i].encode() for i in first + rest]
    size = 1
    while size < 2 * len(words):
        size *= 2
    slots = np.zeros(size, "<u4")
    for n, w in enumerate(words):
        k = fnv1a64(w) & (size - 1)
        while slots[k]:
            k = (k + 1) & (size - 1)
        slots[k] = n + 1
    offsets = np.concatenate([[0], np.cumsum([len(w) for w in words])]).astype("<u4")
    blob = b"".join(words)
    q, s = quantise(rows[first], bits)
    body = q.tobytes() if bits == 8 else (((q[:, 0::2] + 8) | ((q[:, 1::2] + 8) << 4)).astype(np.uint8)).tobytes()
    lead = slots.tobytes() + offsets.tobytes() + blob
    tail = padded(lead) + padded(s.astype("<f4").tobytes()) + body
    head = HEADER.pack(MAGIC, len(words), len(first), rows.shape[1], bits, size, len(blob), line[0], line[1], hashlib.sha256(tail).digest()[:16])
    return padded(head) + tail


def read(path):
    """Read rows, vocabulary in the order of the file, and calibration, as the program does."""
    raw = open(path, "rb").read()
    magic, n, rows, dims, bits, size, length, a, b, digest = HEADER.unpack(raw[:HEADER.size])
    if magic != MAGIC or hashlib.sha256(raw[64:]).digest()[:16] != digest:
        raise ValueError("not a table, or damaged")
    at = 64 + 4 * size
    off = np.frombuffer(raw, "<u4", n + 1, at)
    at += 4 * (n + 1)
    vocab = [raw[at + off[i]:at + off[i + 1]].decode() for i in range(n)]
    at += length
    at += -at % 64
    s = np.frombuffer(raw, "<f4", rows, at)
    at += 4 * rows
    at += -at % 64
    if bits == 8:
        q = np.frombuffer(raw, np.int8, rows * dims, at).reshape(rows, dims).astype(np.float32)
    else:
        x = np.frombuffer(raw, np.uint8, rows * dims // 2, at).reshape(rows, dims // 2)
        q = np.empty((rows, dims), np.float32)
        q[:, 0::2], q[:, 1::2] = (x & 15).astype(np.float32) - 8, (x >> 4).astype(np.float32) - 8
    return q * s[:, None], vocab, (a, b)


def counts_of(files, size):
    return sum(np.bincount(np.load(p)[k], minlength=size) for p in files for k in ("q", "d"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for k in ("vocab", "out"):
        p.add_argument("--" + k, required=True)
    p.add_argument("--rows", required=True, nargs="+", help="rows of one or more runs from the same first rows; several are averaged")
    p.add_argument("--pairs", required=True, nargs="+")
    p.add_argument("--bits", type=int, default=8), p.add_argument("--least", type=int, default=1)
    p.add_argument("--a", type=float, default=0.), p.add_argument("--b", type=float, default=1.)
    a = p.parse_args()
    vocab, rows = text.load_vocab(a.vocab), sum(np.load(r) for r in a.rows) / len(a.rows)
    data = pack(rows, vocab, counts_of(a.pairs, len(vocab)), a.bits, a.least, (a.a, a.b))
    with open(a.out, "wb") as f:
        f.write(data)
    print(len(data), "bytes", HEADER.unpack(data[:HEADER.size])[1:7])


if __name__ == "__main__":
    main()
