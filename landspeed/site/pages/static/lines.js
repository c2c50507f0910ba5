/* The lines of plots against clients: one for each version and build. */

import {count} from './lib.js';
import {told} from './chart.js';
import {called, foremost, usualBuild} from './choice.js';

/* The number of lines that are drawn by default. */
const MOST = 6;

/* All versions in all builds, in order. */
export function linesOf(panel) {
    const found = [];
    const first = foremost(panel.categories);
    for (const one of panel.categories) {
        for (const variant of panel.variants) {
            const points = panel.points.filter(
                (p) => p.version === one.name && p.variant === variant);
            if (points.length) {
                const alone = panel.variants.length === 1;
                found.push({key: `${one.name}:${variant}`, version: one.name, variant, points,
                    minor: !first.includes(one) || variant !== usualBuild(panel.variants), category: one,
                    label: alone ? called(one) : `${called(one)} ${variant}`});
            }
        }
    }
    return found;
}

/* The default lines: the newest releases of the latest major versions, in the usual build. */
export function usual(panel, lines) {
    const names = foremost(panel.categories).map((one) => one.name);
    const likely = lines.filter(
        (one) => names.includes(one.version) && one.variant === usualBuild(panel.variants));
    return (likely.length ? likely : lines).slice(-MOST);
}

export function seriesOf({index, panel, metric, shown}, places) {
    const unit = index.metrics[metric].unit;
    return shown.map((one, i) => ({
        label: one.label,
        line: true,
        place: places ? places.get(one.key) : i,
        points: one.points.filter((p) => p[metric]).map((p) => ({...p[metric], x: p.clients,
            told: told(count(p.clients, 'client'), p[metric], unit)})),
    }));
}
