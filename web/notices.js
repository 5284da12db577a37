// Lines above the views that say something, offer what can be done about it, and can be put away.
const place = () => document.getElementById("notices");

export function button(label, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.onclick = act;
    return made;
}

/** Takes the line of this name away. */
export function unsay(name) {
    place().querySelector(`[data-notice="${name}"]`)?.remove();
}

/**
 * Says something; what was said under this name before is replaced.
 * @param acts { label: what the button does }; each also takes the line away
 * @param stays it cannot be put away, since nothing works until one of the buttons is pressed
 */
export function say(name, text, acts = {}, { stays = false } = {}) {
    const line = document.createElement("p"), words = document.createElement("span");
    unsay(name);
    line.dataset.notice = name;
    words.textContent = text;
    line.append(words, ...Object.entries(acts).map(([label, act]) => button(label, () => {
        line.remove();
        act();
    })));
    if (!stays) {
        const close = button("✕", () => line.remove());
        close.setAttribute("aria-label", "Put this line away");
        line.append(close);
    }
    place().append(line);
}
