// Where the UI is mounted: the page's <base>, which the server sets to its prefix. Ends without a slash.
export const BASE_PATH = new URL(document.baseURI).pathname.replace(/\/+$/, "");
