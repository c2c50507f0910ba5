/* A dot: the release or commit that the part of the address after # names, and how to see its runs. */

import {change, compareAddress, count, fetchJson, h, load, run, site, table} from './lib.js';

run(async function draw(index, place) {
    const asked = decoded(location.hash.slice(1));
    const asv = await fetchJson(new URL('index.json', site)).catch(() => null);
    const names = asv ? find(asv, asked) : null;
    const lists = await Promise.all(index.searches.map((name) => load(`search/${name}.json`)));
    const known = lists.flat().find((one) => one.name === (names?.tag ?? asked)
        || (one.commit && asked.length >= 7 && one.commit.startsWith(asked)));
    const heading = document.querySelector('main h1');
    if (!names && !known) {
        heading.textContent = 'Not on this site';
        place.replaceChildren(h('p', {}, `This site has no release or commit “${asked}”.`));
        return;
    }
    const release = names?.tag ?? (known && !known.commit ? known.name : null);
    const hash = known?.commit ?? names?.hash;
    const name = release ?? hash.slice(0, 10);
    heading.textContent = release ? (release.startsWith('@') ? release : `PostgreSQL ${name}`)
        : `commit ${name}`;
    document.title = `${name} · landspeed`;
    const found = (await load('found.json'))[hash] ?? [];
    place.replaceChildren(...about({release, hash, name, known, names, found}));
});

addEventListener('hashchange', () => location.reload());

function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch (error) {
        return text;
    }
}

/* The tag, hash and date of *asked* in asv's index; null if it is not there. */
function find(asv, asked) {
    const entries = Object.entries(asv.revision_to_hash);
    const tagged = asv.tags[asked];
    const [revision, hash] = entries.find(([number, one]) => String(tagged) === number
        || one === asked || (asked.length >= 7 && one.startsWith(asked))) ?? [];
    if (revision === undefined) {
        return null;
    }
    const tag = Object.entries(asv.tags).find(([, number]) => String(number) === revision);
    return {tag: tag ? tag[0] : null, hash, date: asv.revision_to_date[revision]};
}

function about({release, hash, name, known, names, found}) {
    const date = known?.date ?? new Date(names.date).toISOString().slice(0, 10);
    const variants = known?.variants ?? ['bs8'];
    const on = known ? {machine: known.machines[0]} : {};
    const parts = [
        known?.subject ? h('p', {class: 'strong'}, known.subject) : null,
        h('p', {}, [`${date}`, known?.author, known?.line && `on ${known.line}`,
            known && `${count(known.runs, 'run')} on ${known.machines.join(', ')}`]
            .filter(Boolean).join(' · ')),
        elsewhere(release, hash),
        known?.before ? h('p', {}, h('a', {href: compareAddress({...on, a: known.before, b: name})},
            `Compare with ${known.before}, measured before it`)) : null,
        release ? h('p', {}, h('a', {href: compareAddress({...on, b: name})}, 'Compare with another version')) : null,
        ...changed(found),
        h('h2', {}, 'The runs behind its dots'),
        h('p', {}, 'Run this in the checkout that published the site:'),
        h('pre', {}, variants.map((one) => `landspeed show ${name}:${one}`).join('\n')),
    ];
    return parts.filter(Boolean);
}

/* What searches over many workloads found this commit to have changed, the largest change first. */
function changed(found) {
    return found.length ? [h('h2', {}, 'What it changed'), table([
        {title: 'Workload', cell: (row) => row.workload},
        {title: 'Instructions', number: true, cell: (row) => change(row.ratio)},
        {title: 'Kind', cell: (row) => row.kind},
        {title: 'Functions', cell: (row) => h('span', {class: 'mono'}, row.functions.join(', '))},
        {title: 'Search', cell: (row) => h('a', {href: new URL(row.page, site).href}, row.range)},
    ], found, 'Instructions of one execution, next to its parent')] : [];
}

function elsewhere(release, hash) {
    if (release && /^\d+(\.\d+)+$/.test(release)) {
        return h('p', {}, h('a', {rel: 'noreferrer',
            href: `https://www.postgresql.org/docs/release/${release}/`}, 'Release notes'));
    }
    if (!release && hash) {
        return h('p', {}, h('a', {rel: 'noreferrer', href: 'https://git.postgresql.org/gitweb/'
            + `?p=postgresql.git;a=commit;h=${encodeURIComponent(hash)}`},
        'This commit on git.postgresql.org'));
    }
    return null;
}
