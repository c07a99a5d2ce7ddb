"""Losses as their definitions stand in a book, on repeated rows: slow, and in any precision."""

import mpmath as mp
import numpy as np


def cox_terms(time, event, entry=None, strata=None, ties="breslow"):
    """One vector a (n) for each event: log Σ a_j e^(η_j) is its part of the loss."""
    n = len(time)
    entry = [-np.inf] * n if entry is None else entry
    strata = [0] * n if strata is None else strata
    for s in sorted(set(strata)):
        own = [i for i in range(n) if strata[i] == s]
        for t in sorted({time[i] for i in own if event[i]}):
            risk = [i for i in own if entry[i] < t <= time[i]]
            tied = [i for i in own if event[i] and time[i] == t]
            for rank in range(len(tied)):
                a = np.zeros(n)
                a[risk] = 1
                if ties == "efron":
                    a[tied] = 1 - rank / len(tied)
                yield a


def derivatives(kind, y, eta):
    """Gradient (list) and Hessian (mp.matrix) of a loss at η (mp numbers), unit weights."""
    N = len(eta)
    H = mp.zeros(N)
    if kind == "squared":
        return [e - t for e, t in zip(eta, y, strict=True)], mp.eye(N)
    if kind == "logistic":
        p = [1 / (1 + mp.exp(-e)) for e in eta]
        return [a - t for a, t in zip(p, y, strict=True)], mp.diag([a * (1 - a) for a in p])
    if kind == "poisson":
        rate = [mp.exp(e + o) for e, o in zip(eta, y["offset"], strict=True)]
        return [a - t for a, t in zip(rate, y["y"], strict=True)], mp.diag(rate)
    g = [mp.mpf(0)] * N
    if kind == "softmax":
        M = len(y)
        for i in range(M):
            at = range(i, N, M)
            total = mp.fsum(mp.exp(eta[j]) for j in at)
            for c, j in enumerate(at):
                g[j] = mp.exp(eta[j]) / total - (c == y[i])
                for other in at:
                    share = mp.exp(eta[other]) / total
                    H[j, other] = mp.exp(eta[j]) / total * ((j == other) - share)
        return g, H
    for a in cox_terms(**y):
        x = [mp.mpf(w) * mp.exp(e) if w else mp.mpf(0) for w, e in zip(a, eta, strict=True)]
        total = mp.fsum(x)
        q = [v / total for v in x]
        for i in np.flatnonzero(a):
            g[i] += q[i]
            H[i, i] += q[i]
            for j in np.flatnonzero(a):
                H[i, j] -= q[i] * q[j]
    return [a - bool(e) for a, e in zip(g, y["event"], strict=True)], H


def minimiser_in_40_digits(kind, y, Z, k, c, eta, b, factors=None, n_scores=1, intercept=True):
    """α (D·C) in 40 digits: Newton on η = Zφ(Zᵀg(η)) + b, 1ᵀg = 0, from η (N) and b (C).

    The minimiser is unique, so where Newton starts does not matter. The last class has b = 0.
    """
    with mp.workdps(50):
        M, D = Z.shape
        N, n_free = len(eta), (n_scores - (n_scores > 1)) * intercept
        K, lam = mp.mpf(k), 1 / (4 * mp.mpf(c))
        p = [mp.mpf(1)] * D if factors is None else [mp.mpf(x) for x in factors]
        r, rows = 1 / (K - 1), mp.matrix(Z.tolist())
        eta = [mp.mpf(x) for x in eta]
        b = [mp.mpf(x) for x in b[:n_free]]
        for _ in range(60):
            grad, H = derivatives(kind, y, eta)
            J, F, alpha = mp.eye(N + n_free), mp.matrix(N + n_free, 1), []
            inner = mp.zeros(N)
            for s in range(n_scores):
                at = slice(s * M, (s + 1) * M)
                v = rows.T * mp.matrix([-x for x in grad[at]])
                x = [abs(a) / (lam * K * q) for a, q in zip(v, p, strict=True)]
                own = mp.matrix([mp.sign(a) * z**r for a, z in zip(v, x, strict=True)])
                w = [r * z ** (r - 1) / (lam * K * q) for z, q in zip(x, p, strict=True)]
                fit = rows * own
                inner[at, at] = rows * mp.diag(w) * rows.T
                alpha += list(own)
                for i in range(M):
                    level = b[s] if s < n_free else 0
                    F[s * M + i] = eta[s * M + i] - fit[i] - level
                    if s < n_free:
                        J[s * M + i, N + s] = -1
                if s < n_free:
                    F[N + s] = mp.fsum(grad[at])
                    J[N + s, N + s] = 0
            J[:N, :N] = mp.eye(N) + inner * H
            for s in range(n_free):
                for j in range(N):
                    J[N + s, j] = mp.fsum(H[s * M + i, j] for i in range(M))
            size = max(abs(x) for x in eta) + 1
            if max(abs(x) for x in F) <= mp.mpf(10) ** -38 * size:
                return np.array([float(a) for a in alpha])
            step = mp.lu_solve(J, F)
            eta = [e - d for e, d in zip(eta, step[:N], strict=True)]
            b = [e - d for e, d in zip(b, step[N:], strict=True)]
        raise ArithmeticError("the reference did not converge")


def value_and_gradient(kind, y, w, eta):
    """L and its gradient in long doubles for weights w; Efron only for weights of one."""
    eta, w = np.asarray(eta, np.longdouble), np.asarray(w, np.longdouble)
    if kind == "logistic":
        p = 1 / (1 + np.exp(-eta))
        return np.sum(w * (np.logaddexp(0, eta) - y * eta)), w * (p - y)
    if kind == "poisson":
        rate, counts = np.exp(eta + y["offset"]), np.asarray(y["y"], np.longdouble)
        log = np.log(np.where(counts > 0, counts, 1))
        each = rate - counts * (eta + y["offset"]) - counts + counts * log
        return np.sum(w * each), w * (rate - counts)
    if kind == "softmax":
        x = eta.reshape(-1, len(y))
        p = np.exp(x - x.max(0))
        p /= p.sum(0)
        own = p[y, np.arange(len(y))]
        p[y, np.arange(len(y))] -= 1
        return -np.sum(w * np.log(own)), (w * p).ravel()
    value, g = -np.sum((w * eta)[y["event"]]), -w * y["event"]
    times = iter(cox_terms(**y))
    for t_event in _events_in_order(y):
        a = next(times) * w
        x, tied = a * np.exp(eta), _tied_with(y, t_event)
        value += w[t_event] * np.log(x.sum() / a[tied].sum())
        g = g + w[t_event] * x / x.sum()
    return value, g


def _tied_with(y, i):
    """The events at the time of sample i, in its stratum."""
    strata = np.zeros(len(y["time"])) if y.get("strata") is None else np.asarray(y["strata"])
    time, event = np.asarray(y["time"]), np.asarray(y["event"])
    return event & (time == time[i]) & (strata == strata[i])


def _events_in_order(y):
    """Samples with events in the order of `cox_terms`; their weights matter only for Breslow."""
    n = len(y["time"])
    strata = [0] * n if y.get("strata") is None else y["strata"]
    for s in sorted(set(strata)):
        own = [i for i in range(n) if strata[i] == s and y["event"][i]]
        yield from sorted(own, key=lambda i: y["time"][i])
