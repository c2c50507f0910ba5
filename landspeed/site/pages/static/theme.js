'use strict';

/* Apply the stored theme before anything is painted. */
try {
    const chosen = localStorage.getItem('landspeed-theme');
    if (chosen === 'light' || chosen === 'dark') {
        document.documentElement.dataset.theme = chosen;
    }
} catch (error) { /* Without storage the system's theme applies. */ }
