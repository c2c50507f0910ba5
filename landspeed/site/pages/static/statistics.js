/* Ratios of two servers, computed from the statistics in the data files. */

/* Exact metrics repeat to 0.1 %; a smaller difference than this does not count. */
const EXACT_DIFFERENCE = 0.002;

/* B's number by A's: the ratio of geometric means with its 95 % interval, after Welch (The
   generalization of "Student's" problem when several different population variances are
   involved, Biometrika 34, 1947) on logarithms. Degrees of freedom are rounded down: the interval
   is a little too wide rather than too narrow. Without two runs of each there is no interval.
   quantiles: Student's t at 0.975 for 1, 2, … degrees of freedom. */
export function ratioOf(a, b, quantiles) {
    if (a?.lm === undefined || b?.lm === undefined) {
        return null;
    }
    const difference = b.lm - a.lm;
    const found = {ratio: Math.exp(difference)};
    if (a.n > 1 && b.n > 1) {
        const [first, second] = [a.ls ** 2 / a.n, b.ls ** 2 / b.n];
        const variance = first + second;
        const freedom = variance > 0
            ? variance ** 2 / (first ** 2 / (a.n - 1) + second ** 2 / (b.n - 1))
            : a.n + b.n - 2;
        const place = Math.min(quantiles.length, Math.max(1, Math.floor(freedom))) - 1;
        const half = quantiles[place] * Math.sqrt(variance);
        found.low = Math.exp(difference - half);
        found.high = Math.exp(difference + half);
    }
    return found;
}

/* 'better', 'worse' or 'none'; 'unknown' with too few runs. */
export function verdict(found, metric) {
    if (found === null) {
        return 'unknown';
    }
    const isUp = (ratio) => (metric.better === 'higher') === (ratio > 1);
    if (metric.exact) {
        const isSame = Math.abs(found.ratio - 1) <= EXACT_DIFFERENCE;
        return isSame ? 'none' : isUp(found.ratio) ? 'better' : 'worse';
    }
    if (found.low === undefined) {
        return 'unknown';
    }
    if (found.low <= 1 && found.high >= 1) {
        return 'none';
    }
    return isUp(found.ratio) ? 'better' : 'worse';
}

/* The change against a baseline in percent, with its interval. */
export function relative(base, numbers, quantiles) {
    const found = ratioOf(base, numbers, quantiles);
    if (found === null) {
        return null;
    }
    const percent = (ratio) => 100 * (ratio - 1);
    return {
        mean: percent(found.ratio),
        ...(found.low === undefined ? {} : {low: percent(found.low), high: percent(found.high)}),
    };
}
