// Many dispatches beside one, to look at, in a real browser. node live.mjs chromium|firefox
import { done, equal, test, yes } from "./check.mjs";
import { serve } from "./server.mjs";
import { visit } from "./visitor.mjs";

const [, , name] = process.argv, { SOLO_PAGE } = process.env;
const { browser, heard, picture, click, textOf, ready } = await visit(name);
const server = await serve(SOLO_PAGE), hidden = (id) => browser.evaluate((at) => document.getElementById(at).hidden, id);
const ended = () => browser.until(() => !soloPage.busy && !document.getElementById("live-start").hidden);
const pictures = () => browser.evaluate(() => ["many", "one"].map((side) => Number(document.getElementById(`live-${side}-facts`).textContent.match(/(\d+) pictures/)?.[1])));

await test("many dispatches beside one: both move, with the same bits, until it is stopped", async () => {
    await browser.goto(`${server.url}/#measure`);
    await ready();
    yes(await hidden("live"), "nothing moves by itself");
    equal(server.requests.filter(({ path }) => /solo-sim/.test(path)), [], "and nothing is fetched for it");
    await browser.size(1100, 1000);
    await click("live-start");
    await browser.until(() => document.getElementById("live-now").textContent !== "" || !document.getElementById("trouble").hidden);
    yes(await hidden("trouble"), await textOf("trouble-text"));
    const made = await pictures(), painted = await browser.evaluate(() => ["many", "one"].map((side) => {
        const canvas = document.getElementById(`live-${side}`), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size > 10;
    }));
    yes(made.every((count) => count > 15), `${made} pictures`);
    equal(painted, [true, true], "points on both");
    yes(/ms for 1024 steps/.test(await textOf("live-one-facts")), await textOf("live-one-facts"));
    yes(/^(One dispatch is \S+ to \S+ times as (fast|slow) here|Which of the two)/.test(await textOf("live-now")), await textOf("live-now"));
    await browser.evaluate(() => document.getElementById("live-stop").scrollIntoView());
    await picture("live");
    yes(await browser.evaluate(() => soloPage.busy), "meanwhile the GPU is taken");
    await browser.evaluate(() => document.getElementById("live-stop").focus());
    await click("live-stop");
    await ended();
    yes(Number((await textOf("live-same")).match(/^(\d+) pictures compared: bit for bit the same/)[1]) > 10, await textOf("live-same"));
    yes((await textOf("live-verdict")).length > 20, "what came out stays");
    equal(await browser.evaluate(() => document.activeElement.id), "live-start", "the focus does not get lost");
});

await test("it ends when another view is opened, begins anew, and fits a phone", async () => {
    await click("live-start");
    await browser.until(() => /pictures/.test(document.getElementById("live-one-facts").textContent));
    await browser.evaluate(() => (location.hash = "#chat"));
    await ended();
    await browser.evaluate(() => (location.hash = "#measure"));
    await browser.size(390, 800);
    await click("live-start");
    await browser.until(() => document.getElementById("live-now").textContent);
    await browser.evaluate(() => document.getElementById("live-stop").scrollIntoView());
    yes(await browser.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than a phone");
    await picture("live-phone");
    await click("live-stop");
    await ended();
    equal(heard.filter((line) => line.startsWith("error:")), []);
});

await browser.close();
server.close();
done();
