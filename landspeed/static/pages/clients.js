/* A number against clients on a log2 axis, several versions and builds at once. */

import {
    asked, better, check, chips, h, interval, nothing, number, oneOf, options, remember, run,
    sources, spellMetric, table,
} from './lib.js';
import {chart, told} from './chart.js';
import {called, controls, foremost, loadPanel, metricControl, narrow, words} from './choice.js';

const MOST = 6;

run(async function draw(index, place) {
    const timed = index.panels.filter((panel) => !panel.buffers);
    if (!timed.length) {
        nothing(place, 'Nothing is timed yet.');
        return;
    }
    const again = () => draw(index, place);
    const {chosen, fields, panels} = narrow(timed);
    const panel = await loadPanel(panels[0]);
    const metric = oneOf(asked('metric'), panel.metrics, 'tps');
    const zero = asked('zero') !== 'no';
    const lines = linesOf(panel);
    const wanted = (asked('lines') || '').split(',');
    const picked = lines.filter((one) => wanted.includes(one.key));
    const shown = picked.length ? picked : usual(panel, lines);
    const data = {index, panel, metric, zero, shown};
    place.replaceChildren(
        h('form', {class: 'controls', onsubmit: (event) => event.preventDefault()},
            controls(fields, chosen, again).filter(Boolean),
            metricControl(index, panel.metrics, metric, again),
            check('y axis from zero', zero, (value) => {
                remember({zero: value ? '' : 'no'});
                again();
            }),
            chips('Versions and builds', lines.map((one) => ({value: one.key, text: one.label})),
                shown.map((one) => one.key), (values) => {
                    remember({lines: values});
                    again();
                })),
        figure(data),
        h('details', {}, h('summary', {}, 'The numbers as a table'), numbersTable(data)));
});

/* Every version in every build, in order. */
export function linesOf(panel) {
    const found = [];
    for (const one of panel.categories) {
        for (const variant of panel.variants) {
            const points = panel.points.filter(
                (p) => p.version === one.name && p.variant === variant);
            if (points.length) {
                const alone = panel.variants.length === 1;
                found.push({key: `${one.name}:${variant}`, version: one.name, variant, points,
                    label: alone ? called(one) : `${called(one)} ${variant}`});
            }
        }
    }
    return found;
}

/* Where nothing was asked for: the newest of the latest majors, in the first build. */
export function usual(panel, lines) {
    const names = foremost(panel.categories).map((one) => one.name);
    const likely = lines.filter(
        (one) => names.includes(one.version) && one.variant === usualBuild(panel));
    return (likely.length ? likely : lines).slice(-MOST);
}

const usualBuild = (panel) => (panel.variants.includes('bs8') ? 'bs8' : panel.variants[0]);

export function seriesOf({index, panel, metric, shown}, places) {
    const unit = index.metrics[metric].unit;
    return shown.map((one, i) => ({
        label: one.label,
        line: true,
        place: places ? places.get(one.key) : i,
        points: one.points.filter((p) => p[metric]).map((p) => ({...p[metric], x: p.clients,
            told: told(`${p.clients} client${p.clients > 1 ? 's' : ''}`, p[metric], unit)})),
    }));
}

function figure(data) {
    const {index, panel, metric, zero, shown} = data;
    const title = spellMetric(index, metric);
    const only = shown.length === 1 ? shown[0].variant : undefined;
    return h('figure', {},
        h('p', {class: 'plot-title'}, title, ' ', h('span', {},
            `· ${better(index, metric)} · ${words(panel)}`)),
        chart({
            label: `${title} against clients`,
            x: {kind: 'ladder', values: panel.clients},
            y: {zero},
            series: seriesOf(data),
            height: 400,
        }),
        h('figcaption', {}, 'x axis: clients, each step twice as many (log2). ', index.method),
        sources(panel, metric, {x: 'clients', variant: only}));
}

function numbersTable({index, panel, metric, shown}) {
    const cell = (one, clients) => {
        const point = one.points.find((p) => p.clients === clients);
        const numbers = point && point[metric];
        return numbers ? h('span', {title: `95 %: ${interval(numbers)}`}, number(numbers.mean)) : '–';
    };
    return table([
        {title: 'Version', cell: (one) => one.version},
        {title: 'Build', cell: (one) => one.variant},
        ...options(panel.clients).map(({value}) => ({title: `${value}`, number: true,
            cell: (one) => cell(one, value)})),
    ], shown, `${spellMetric(index, metric)} by clients, ${words(panel)}`);
}
