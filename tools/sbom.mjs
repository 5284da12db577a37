// node tools/sbom.mjs VERSION COMMIT SECONDS: what Solo consists of and is built, run and tested with, as CycloneDX 1.5, from the
// files that pin it: package-lock.json files (npm), requirements files (PyPI), debian/control (Debian's libraries).
import { existsSync, readFileSync } from "node:fs";
import { createHash } from "node:crypto";

const [, , version, commit, seconds] = process.argv;
const LOCKS = ["package-lock.json", "tests/oracle/package-lock.json", "tests/npm/package-lock.json"];
const REQUIREMENTS = ["tools/requirements.txt", "tools/requirements-dawn.txt", "tools/requirements-wheel.txt", "tests/oracle/requirements.txt"];
const RUN = /^(bun-webgpu-linux-x64|litert-lm-api|wgpu)$/; // the WebGPU libraries; everything else serves building and testing

const ALGORITHMS = { sha512: "SHA-512", sha256: "SHA-256", sha1: "SHA-1" };
const component = (purl, name, itsVersion, hashes, license, from) => ({
    type: "library", "bom-ref": purl, name, version: itsVersion, scope: RUN.test(name) ? "optional" : "excluded", purl, hashes,
    ...(license ? { licenses: [/ |\(/.test(license) ? { expression: license } : { license: { name: license } }] } : {}),
    properties: [{ name: "solo:pinned-in", value: from }],
});

function* npmOf(file) {
    const { packages } = JSON.parse(readFileSync(file, "utf8"));
    for (const [path, { version: itsVersion, integrity, license }] of Object.entries(packages)) {
        if (!path || !itsVersion) continue;
        const name = path.split("node_modules/").pop(), [algorithm, base64] = integrity?.split("-") ?? [];
        const hashes = integrity ? [{ alg: ALGORITHMS[algorithm], content: Buffer.from(base64, "base64").toString("hex") }] : [];
        yield component(`pkg:npm/${name.replace("@", "%40")}@${itsVersion}`, name, itsVersion, hashes, license, file);
    }
}

function* pypiOf(file) {
    const joined = readFileSync(file, "utf8").replace(/\\\n/g, " ");
    for (const line of joined.split("\n")) {
        const [, name, itsVersion] = line.match(/^([\w.-]+)==([\w.+!-]+)/) ?? [];
        if (!name) continue;
        const hashes = [...line.matchAll(/--hash=sha256:([0-9a-f]{64})/g)].map(([, content]) => ({ alg: "SHA-256", content }));
        yield component(`pkg:pypi/${name.toLowerCase().replace(/_/g, "-")}@${itsVersion}`, name, itsVersion, hashes, null, file);
    }
}

/** Of Debian's libraries the build takes the version that the system has. */
function* debianOf(file) {
    const wanted = readFileSync(file, "utf8").match(/^Build-Depends:([\s\S]*?)^\S/m)[1];
    for (const name of wanted.split(",").map((entry) => entry.trim().split(/[ (]/)[0]).filter((entry) => /^lib/.test(entry)))
        yield { ...component(`pkg:deb/debian/${name}`, name, "", [], null, file), scope: "required" };
}

const all = [...LOCKS.flatMap((file) => [...npmOf(file)]), ...REQUIREMENTS.filter(existsSync).flatMap((file) => [...pypiOf(file)]), ...debianOf("debian/control")];
const components = [...new Map(all.map((entry) => [entry.purl, entry])).values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
const hex = createHash("sha256").update(commit + version).digest("hex");
console.log(JSON.stringify({
    bomFormat: "CycloneDX", specVersion: "1.5", version: 1,
    serialNumber: `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
    metadata: {
        timestamp: new Date(1000 * Number(seconds)).toISOString(),
        component: { type: "application", "bom-ref": "solo", name: "solo", version, licenses: [{ license: { id: "MIT" } }], properties: [{ name: "solo:commit", value: commit }] },
    },
    components,
    dependencies: [{ ref: "solo", dependsOn: components.map((entry) => entry["bom-ref"]) }],
}, null, 1));
