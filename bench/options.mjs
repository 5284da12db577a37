// Options of a script here: --name VALUE, each as its default is, a number or a text. Others end it with a line of usage.
export function readOptions(script, defaults) {
    const options = { ...defaults };
    for (let i = 2; i < process.argv.length; i += 2) {
        const name = process.argv[i].replace(/^--/, ""), value = process.argv[i + 1];
        if (!Object.hasOwn(defaults, name) || value === undefined || (typeof defaults[name] === "number" && !Number.isFinite(Number(value)))) {
            console.error(`usage: node bench/${script} [--${Object.keys(defaults).join(" X] [--")} X]`);
            process.exit(2);
        }
        options[name] = typeof defaults[name] === "number" ? Number(value) : value;
    }
    return options;
}
