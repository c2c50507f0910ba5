/* What every page has: the switch between light and dark, and the words that were searched for. */

const ORDER = ['system', 'light', 'dark'];
const SIGNS = {system: '◐', light: '☀', dark: '☾'};
const WORDS = {system: 'as the system has them', light: 'light', dark: 'dark'};

const root = document.documentElement;
const button = document.getElementById('theme');

function current() {
    return root.dataset.theme || 'system';
}

function show() {
    button.textContent = SIGNS[current()];
    button.setAttribute('aria-label', `Colours: ${WORDS[current()]}. Change them.`);
    button.title = `Colours: ${WORDS[current()]}`;
}

button.addEventListener('click', () => {
    const next = ORDER[(ORDER.indexOf(current()) + 1) % ORDER.length];
    if (next === 'system') {
        delete root.dataset.theme;
    } else {
        root.dataset.theme = next;
    }
    try {
        localStorage.setItem('landspeed-theme', next);
    } catch (error) { /* not kept, but shown */ }
    show();
    document.dispatchEvent(new CustomEvent('colours'));
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    document.dispatchEvent(new CustomEvent('colours'));
});
show();

const asked = new URLSearchParams(location.search).get('q');
if (asked !== null) {
    document.querySelector('.find input').value = asked;
}
