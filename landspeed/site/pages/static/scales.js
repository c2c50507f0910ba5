/* Small multiples: a metric against clients for every scale (rows) and mode (columns). */

import {
    asked, better, chips, chooses, form, h, nothing, number, oneOf, put, run, scaleText, sources,
    spellMetric, table, unique, versionOrder,
} from './lib.js';
import {chart, keyTo} from './chart.js';
import {called, controls, loadPanel, metricControl, narrow, words, zeroControl} from './choice.js';
import {linesOf, seriesOf, usual} from './lines.js';

const MODES = ['read-only', 'read-write', 'tpcb-like'];

run(async function draw(index, place) {
    const timed = index.panels.filter((panel) => !panel.buffers);
    if (!timed.length) {
        nothing(place, 'No timed runs yet.');
        return;
    }
    const again = () => draw(index, place);
    const {chosen, fields, panels} = narrow(timed, ['mode', 'scale', 'buffers']);
    const loaded = await Promise.all(panels.map(loadPanel));
    const metrics = unique(loaded.flatMap((panel) => panel.metrics));
    const metric = oneOf(asked('metric'), metrics, 'tps');
    const zero = asked('zero') !== 'no';
    const lines = allLines(index, loaded);
    const wanted = (asked('lines') || '').split(',').filter((key) => lines.has(key));
    const keys = wanted.length ? wanted
        : unique(loaded.flatMap((panel) => usual(panel, linesOf(panel)).map((one) => one.key)));
    const places = new Map([...lines.keys()].filter((key) => keys.includes(key)).map(
        (key, i) => [key, i]));
    const scales = unique(loaded.map((panel) => panel.scale)).sort(
        (a, b) => factor(loaded, a) - factor(loaded, b));
    const modes = unique(loaded.map((panel) => panel.mode)).sort(
        (a, b) => MODES.indexOf(a) - MODES.indexOf(b));
    const small = scales.flatMap((scale) => modes.map((mode) => loaded.find(
        (panel) => panel.scale === scale && panel.mode === mode) || {scale, mode, isEmpty: true}));
    put(place,
        form(
            controls(fields, chosen, again),
            metricControl(index, metrics, metric, again),
            zeroControl('start the y axes at zero', zero, again),
            chips('Versions and builds', [...lines.values()].map(
                (one) => ({value: one.key, text: one.label, minor: one.minor})), keys,
                chooses('lines', again))),
        h('p', {class: 'small quiet'}, `${spellMetric(index, metric)}, ${better(index, metric)}. `
            + 'Rows are scales, columns are modes. The x axis is the number of clients (log2); '
            + 'each plot has its own y axis.'),
        keyTo([...places].map(([key, place]) => ({label: lines.get(key).label, place}))),
        h('div', {class: 'grid', 'data-columns': Math.min(3, modes.length)},
            small.map((panel) => (panel.isEmpty ? missing(panel)
                : one({index, panel, metric, zero, keys, places})))));
});

const factor = (loaded, scale) => loaded.find((panel) => panel.scale === scale).factor || 0;

/* All lines of all panels by key, in the order of versions. */
function allLines(index, loaded) {
    const byVersion = versionOrder(index);
    const found = new Map();
    const isOne = unique(loaded.flatMap((panel) => panel.variants)).length === 1;
    for (const line of loaded.flatMap(linesOf)) {
        const before = found.get(line.key);
        const label = isOne ? called(line.category) : `${called(line.category)} ${line.variant}`;
        found.set(line.key, {...line, label, minor: line.minor && (before?.minor ?? true)});
    }
    return new Map([...found].sort(([, a], [, b]) => byVersion(a.version, b.version)
        || a.variant.localeCompare(b.variant, 'en', {numeric: true})));
}

function missing({mode, scale}) {
    return h('figure', {}, h('p', {class: 'plot-title'}, `${mode} · ${scale}`),
        h('p', {class: 'quiet'}, 'Not measured on this machine.'));
}

function one({index, panel, metric, zero, keys, places}) {
    const shown = linesOf(panel).filter((line) => keys.includes(line.key));
    const data = {index, panel, metric, shown};
    return h('figure', {},
        h('p', {class: 'plot-title'}, `${panel.mode} · ${scaleText(panel)}`),
        chart({
            label: `${panel.mode}, ${scaleText(panel)}: ${spellMetric(index, metric)} against clients`,
            x: {kind: 'log2', values: panel.clients},
            y: {zero},
            series: seriesOf(data, places),
            height: 230,
            legend: false,
        }),
        h('details', {'data-key': panel.file}, h('summary', {'data-key': `of ${panel.file}`},
            'Numbers and sources'),
            table([
                {title: 'Version', cell: (line) => line.label},
                ...panel.clients.map((clients) => ({title: String(clients), number: true,
                    cell: (line) => number(line.points.find(
                        (p) => p.clients === clients)?.[metric]?.mean)})),
            ], shown, `Means by clients, ${words(panel)}`),
            sources(panel, metric, {x: 'clients'})));
}
