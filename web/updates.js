// The page without a network, and newer versions of it: fetched beside the one that runs, and used when the visitor says so.
import { say, unsay } from "./notices.js";

function offer(waiting) {
    say("update", "A newer version of this page is here.", { "Use it": () => waiting.postMessage("use it") });
}

export async function startUpdates() {
    const tell = () => (navigator.onLine === false ? say("offline", "There is no network. This page works without it: the built-in model, and those that are kept in this browser.") : unsay("offline"));
    addEventListener("online", tell);
    addEventListener("offline", tell);
    tell();
    const { serviceWorker } = navigator;
    if (!serviceWorker) return;
    const hadOne = serviceWorker.controller !== null;
    // also when another tab said so: what this one still has to fetch would be the newer version's
    serviceWorker.addEventListener("controllerchange", () => hadOne && location.reload());
    const registration = await serviceWorker.register(new URL("sw.js", import.meta.url)).catch(() => null);
    if (!registration) return;
    const watch = (coming) => coming?.addEventListener("statechange", () => coming.state === "installed" && serviceWorker.controller && offer(coming));
    if (registration.waiting && hadOne) offer(registration.waiting);
    watch(registration.installing);
    registration.addEventListener("updatefound", () => watch(registration.installing));
    if (hadOne) registration.update().catch(() => {}); // now, not when the browser thinks of it
    await serviceWorker.ready;
    document.getElementById("works-offline").hidden = false;
}
