// A context that is full, in a real browser. node full.mjs chromium|firefox
import { done, equal, test, yes } from "./check.mjs";
import { serve } from "./server.mjs";
import { visit } from "./visitor.mjs";

const [, , name] = process.argv, { SOLO_PAGE } = process.env;
const { browser, picture, click, textOf, ready, answered, say, set, press } = await visit(name);
const server = await serve(SOLO_PAGE), isFull = () => browser.until(() => !soloPage.busy && document.getElementById("notices").textContent.includes("The context of 64 tokens is full"), 60_000);

await test("a context that is full is a choice: without the oldest messages, or a new conversation", async () => {
    await browser.goto(`${server.url}/`);
    await ready();
    yes(/[\d.]+ MB of it for a context of 1024 tokens/.test(await textOf("model-facts")), "what it costs is said");
    await set({ max_tokens: 20, temperature: 0, context: 64 });
    await browser.evaluate(() => soloPage.reload());
    await browser.until(() => /a context of 64 \(the model's: 1024\) tokens/.test(document.getElementById("model-facts").textContent));
    await ready();
    await say("Once upon a time there was a king who had a daughter");
    await answered();
    await say("and she went into the wood with her brother to look for a bear");
    await isFull();
    yes(await browser.evaluate(() => document.getElementById("trouble").hidden), "it is no error");
    equal(await browser.evaluate(() => [...document.querySelectorAll("#notices button")].map((b) => b.textContent)), ["Leave out the oldest messages", "New conversation", "✕"], "a model that only goes on with texts summarises nothing");
    await picture("full");
    await press("Leave out the oldest messages");
    await browser.until(() => !soloPage.busy && document.querySelectorAll(".assistant .facts").length === 2);
    equal(await textOf("notices"), "");
    await click("clear");
    await say("Once upon a time there was a king who had a daughter");
    await answered();
    await say("and she went into the wood with her brother to look for a bear");
    await isFull();
    await press("New conversation");
    equal(await browser.evaluate(() => [document.querySelectorAll("#messages .user").length, document.getElementById("text").value]), [0, "and she went into the wood with her brother to look for a bear"]);
    await say("and then ".repeat(80));
    await browser.until(() => !document.getElementById("trouble").hidden);
    yes(/too many for a context of 64 \(Settings have a longer one/.test(await textOf("trouble-text")), await textOf("trouble-text"));
});

await browser.close();
server.close();
done();
