/* A and B in every cell that was measured for both: ratios with intervals, table and forest plot. */

import {
    asked, asvOfPanel, change, chooses, dataAddress, form, h, nothing, number, oneOf, put, remember,
    run, scaleText, select, spellMetric, svg, unique, versionOrder,
} from './lib.js';
import {called, controls, loadPanel, metricControl, narrow} from './choice.js';
import {ratioOf, verdict} from './statistics.js';

const SAID = {better: 'better', worse: 'worse', none: 'no significant difference', unknown: 'too few runs'};
const [WIDTH, HEIGHT] = [220, 22];

run(async function draw(index, place) {
    if (!index.panels.length) {
        nothing(place, 'Nothing is measured yet.');
        return;
    }
    const again = () => draw(index, place);
    const {chosen, fields, panels} = narrow(index.panels,
        ['mode', 'scale', 'protocol', 'profile', 'buffers']);
    const loaded = await Promise.all(panels.map(loadPanel));
    const metrics = unique(loaded.flatMap((panel) => panel.metrics));
    const metric = oneOf(asked('metric'), metrics, metrics.includes('tps') ? 'tps' : metrics[0]);
    const sides = sidesOf(index, loaded);
    if (sides.length < 2) {
        nothing(place, 'Only one build was measured on this machine, so there is nothing to compare.');
        return;
    }
    const [first, second] = likely(sides);
    const a = asked('a') ? find(sides, asked('a')) : first;
    const b = asked('b') ? find(sides, asked('b')) : second;
    const missing = [a ? null : asked('a'), b ? null : asked('b')].filter(Boolean);
    const rows = missing.length ? [] : compared({index, loaded, metric, a, b});
    const list = [...missing.map((one) => ({value: one, text: `${one} (no runs)`})),
        ...sides.map((one) => ({value: one.key, text: one.label}))];
    const [left, right] = [a?.key ?? asked('a'), b?.key ?? asked('b')];
    put(place,
        form(
            controls(fields, chosen, again),
            select('A, the baseline', list, left, chooses('a', again)),
            select('B', list, right, chooses('b', again)),
            h('button', {type: 'button', onclick: () => {
                remember({a: right, b: left});
                again();
            }}, 'Swap'),
            metricControl(index, metrics, metric, again)),
        ...(rows.length ? shown({index, rows, metric, a, b})
            : [h('p', {class: 'note'}, missing.length
                ? `No runs of ${missing.join(' and ')} in this choice. Make another one above.`
                : `No cell has ${spellMetric(index, metric)} for both.`)]),
        missing.length ? null : proof(a, b));
});

/* All builds of all versions on the machine, in the order of versions. */
function sidesOf(index, loaded) {
    const found = new Map();
    const order = new Map();
    for (const panel of loaded) {
        panel.categories.forEach((one) => order.set(one.name, one));
        for (const p of panel.points) {
            found.set(`${p.version}:${p.variant}`, p);
        }
    }
    const byVersion = versionOrder(index);
    return [...found].map(([key, {version, variant}]) => ({
        key, version, variant, label: `${called(order.get(version))} ${variant}`,
    })).sort((x, y) => byVersion(x.version, y.version)
        || x.variant.localeCompare(y.variant, 'en', {numeric: true}));
}

/* The two newest versions of one build. */
function likely(sides) {
    const last = sides[sides.length - 1];
    const same = sides.filter((one) => one.variant === last.variant);
    return same.length > 1 ? same.slice(-2) : sides.slice(-2);
}

/* Find a side by VERSION:BUILD or by the version alone. */
function find(sides, wanted) {
    return sides.find((one) => one.key === wanted)
        || sides.find((one) => one.version === wanted && one.variant === 'bs8')
        || sides.find((one) => one.version === wanted);
}

function compared({index, loaded, metric, a, b}) {
    const rows = [];
    for (const panel of loaded.filter((one) => one.metrics.includes(metric))) {
        for (const clients of panel.clients) {
            const [own, other] = [a, b].map((side) => panel.points.find((p) => p.clients === clients
                && p.version === side.version && p.variant === side.variant && p[metric]));
            if (own && other) {
                const [before, after] = [own, other].map((p) => panel.environments[p.environment]);
                const found = before.epoch === after.epoch
                    ? ratioOf(own[metric], other[metric], index.t_975) : null;
                rows.push({
                    panel, clients, found,
                    a: own[metric], b: other[metric],
                    word: before.epoch === after.epoch
                        ? verdict(found, index.metrics[metric]) : 'epochs',
                    toolchains: before.toolchain !== after.toolchain,
                });
            }
        }
    }
    return rows;
}

function shown({index, rows, metric, a, b}) {
    const known = rows.filter((row) => row.found);
    const reach = Math.max(0.02, ...known.flatMap((row) => [row.found.low ?? row.found.ratio,
        row.found.high ?? row.found.ratio].map((ratio) => Math.abs(Math.log(ratio)))));
    const span = Math.min(reach, Math.log(8));
    const {unit} = index.metrics[metric];
    const columns = ['Cell', 'Clients', `A, ${unit}`, `B, ${unit}`, 'B / A', '95 % interval', '', 'B is'];
    const caption = `B (${b.label}) compared with A (${a.label}): ${spellMetric(index, metric)}`;
    return [
        summary(index, known, metric, a, b),
        h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption}, h('table', {class: 'cards'},
            h('caption', {}, caption),
            h('thead', {}, h('tr', {}, columns.map((title, i) => h('th',
                {scope: 'col', class: i > 0 && i < 6 ? 'number' : null}, title)))),
            h('tbody', {}, rows.map((row, i) => line(row, span, metric, b, columns,
                rows[i - 1]?.panel === row.panel ? 0
                    : rows.filter((one) => one.panel === row.panel).length))))),
        h('p', {class: 'small quiet'}, 'Ratios of geometric means with 95 % Welch intervals on '
            + 'logarithms (Biometrika 34, 1947). Each interval stands alone: of 20 cells without '
            + 'any change, one interval excludes no change by chance. Counted metrics are exact: '
            + 'a change of more than 0.2 % is real.'),
        rows.some((row) => row.toolchains) ? h('p', {class: 'note'}, 'In some cells A and B were '
            + 'built or run with different compilers or C libraries, which may explain part of '
            + 'a difference.') : null,
    ].filter(Boolean);
}

function summary(index, known, metric, a, b) {
    if (!known.length) {
        return h('p', {class: 'note'}, 'A and B were measured in different epochs of the machine '
            + '(kernel, processor, microcode, C library), so there is no ratio.');
    }
    const mean = Math.exp(known.reduce((sum, row) => sum + Math.log(row.found.ratio), 0) / known.length);
    const of = (word) => known.filter((row) => row.word === word).length;
    /* A mean of cells without a significant difference has none. */
    const isShown = of('better') + of('worse') > 0;
    const word = isShown && verdict({ratio: mean, low: mean, high: mean}, index.metrics[metric]);
    return h('p', {id: 'summary'}, h('strong', {}, `${b.label} compared with ${a.label}: `),
        h('strong', {class: word || null}, change(mean)), ` ${spellMetric(index, metric)}, geometric mean of `,
        `${known.length} cell${known.length > 1 ? 's' : ''}; better in ${of('better')}, `
        + `worse in ${of('worse')}, no significant difference in the others.`);
}

/* A row of the table. *heads* is the number of rows that its cell spans; 0 where another spans it. */
function line(row, span, metric, b, columns, heads) {
    const {panel, clients, found, word} = row;
    const cell = [panel.mode, scaleText(panel), panel.protocol, panel.profile,
        panel.buffers].filter(Boolean).join(' · ');
    const tone = word === 'better' || word === 'worse' ? word : 'quiet';
    return h('tr', {},
        heads ? h('th', {scope: 'rowgroup', rowspan: heads, class: 'cell'}, cell,
            h('div', {class: 'small'}, h('a', {href: asvOfPanel(panel, metric,
                panel.asv.axes[b.variant])}, 'Trend in asv'), ' · ',
            h('a', {href: dataAddress(panel.runs_file), download: ''}, 'Runs (CSV)'))) : null,
        [
            ['number', String(clients)],
            ['number', number(row.a.mean), `${row.a.n} runs`],
            ['number', number(row.b.mean), `${row.b.n} runs`],
            [`number strong ${tone}`, found ? change(found.ratio) : '–'],
            ['number', found?.low === undefined ? '–' : `${change(found.low)} … ${change(found.high)}`],
            ['', found ? forest(found, span, tone) : null],
            [`whole ${tone}`, word === 'epochs' ? 'in another epoch' : SAID[word]],
        ].map(([style, text, title], i) => h('td',
            {class: style || null, title: title ?? null, 'data-title': columns[i + 1]}, text)));
}

/* The ratio and its interval around no change, on one scale for all rows. */
function forest(found, span, tone) {
    const at = (ratio) => WIDTH / 2 + (WIDTH / 2 - 6)
        * Math.max(-1, Math.min(1, Math.log(ratio) / span));
    const mid = HEIGHT / 2;
    return svg('svg', {class: `forest ${tone}`, width: WIDTH, height: HEIGHT,
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true'},
    svg('line', {x1: WIDTH / 2, x2: WIDTH / 2, y1: 0, y2: HEIGHT, stroke: 'currentColor',
        'stroke-opacity': 0.35}),
    ...(found.low === undefined ? [] : [svg('line', {x1: at(found.low), x2: at(found.high), y1: mid,
        y2: mid, stroke: 'currentColor', 'stroke-width': 2})]),
    svg('circle', {cx: at(found.ratio), cy: mid, r: 4, fill: 'currentColor'}));
}

function proof(a, b) {
    const side = (one) => `${one.version}:${one.variant}`;
    return h('section', {},
        h('h2', {}, 'Run a real comparison'),
        h('p', {}, 'These runs come from trends: A and B may have been measured on different days. '
            + 'This command measures both, interleaved in random order, until the answer is sure:'),
        h('pre', {}, `landspeed compare ${side(a)} ${side(b)} --budget 1h`),
        h('p', {class: 'small quiet'}, 'The runs behind these numbers: ',
            h('code', {}, `landspeed show ${side(a)}`), ' and ',
            h('code', {}, `landspeed show ${side(b)}`), '.'));
}
