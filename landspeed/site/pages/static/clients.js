/* A metric against the number of clients (log2) for several versions and builds. */

import {
    asked, better, chips, chooses, form, h, interval, nothing, number, oneOf, options, put, run,
    sources, spellMetric, table,
} from './lib.js';
import {chart} from './chart.js';
import {controls, loadPanel, metricControl, narrow, words, zeroControl} from './choice.js';
import {linesOf, seriesOf, usual} from './lines.js';

run(async function draw(index, place) {
    const timed = index.panels.filter((panel) => !panel.buffers);
    if (!timed.length) {
        nothing(place, 'No timed runs yet.');
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
    put(place,
        form(
            controls(fields, chosen, again),
            metricControl(index, panel.metrics, metric, again),
            zeroControl('start the y axis at zero', zero, again),
            chips('Versions and builds', lines.map(
                (one) => ({value: one.key, text: one.label, minor: one.minor})),
                shown.map((one) => one.key), chooses('lines', again))),
        figure(data),
        h('details', {'data-key': 'table'},
            h('summary', {'data-key': 'numbers'}, 'The numbers as a table'), numbersTable(data)));
});

function figure(data) {
    const {index, panel, metric, zero, shown} = data;
    const title = spellMetric(index, metric);
    const only = shown.length === 1 ? shown[0].variant : undefined;
    return h('figure', {},
        h('p', {class: 'plot-title'}, title, ' ', h('span', {},
            `· ${better(index, metric)} · ${words(panel)}`)),
        chart({
            label: `${title} against clients`,
            x: {kind: 'log2', values: panel.clients},
            y: {zero},
            series: seriesOf(data),
            height: 400,
        }),
        h('figcaption', {}, 'The x axis is the number of clients (log2). ', index.method),
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
