// Fits a model to a visitor's CSV inside the browser. Nothing is loaded before a click, and the
// data never leave the page: Python runs in it.
(() => {
  const VERSION = "314.0.7";
  const HOME = `https://cdn.jsdelivr.net/pyodide/v${VERSION}/full/`;
  const part = (name) => document.getElementById(`try-${name}`);
  const script = document.currentScript ? document.currentScript.src : "";
  let ready = null;
  let table = "";

  const say = (text) => { part("state").textContent = text; };

  const loaded = (address) => new Promise((resolve, reject) => {
    const tag = document.createElement("script");
    tag.src = address;
    tag.onload = resolve;
    tag.onerror = () => reject(new Error(`${address} could not be loaded`));
    document.head.append(tag);
  });

  async function start() {
    say("loading Python, numpy, scipy and scikit-learn (about 40 MB, kept by the browser) ...");
    await loaded(`${HOME}pyodide.js`);
    const python = await window.loadPyodide({ indexURL: HOME });
    await python.loadPackage("scikit-learn");
    const beside = (name) => fetch(new URL(name, script));
    python.unpackArchive(await (await beside("skstretch.zip")).arrayBuffer(), "zip");
    python.runPython(await (await beside("try.py")).text());
    return python;
  }

  async function fit() {
    const target = part("target").value;
    try {
      ready = ready || start();
      const python = await ready;
      say("fitting ...");
      await new Promise((resolve) => setTimeout(resolve, 30)); // let the line be drawn
      const [summary, rows] = python.globals.get("answer")(table, target).toJs();
      part("summary").textContent = summary;
      part("rows").href = URL.createObjectURL(new Blob([rows], { type: "text/csv" }));
      part("rows").hidden = false;
      say("done; nothing left this page.");
    } catch (error) {
      ready = ready && (await ready.then(() => ready, () => null));
      say(String(error.message || error).trim().split("\n").pop());
    }
  }

  // The names in the first line, as Python's csv reads them: quotes may hold commas.
  function columns(text) {
    const line = text.split(/\r?\n/, 1)[0];
    const found = [];
    let name = "", quoted = false;
    for (let i = 0; i < line.length; i++) {
      if (line[i] === '"' && quoted && line[i + 1] === '"') name += line[i++];
      else if (line[i] === '"') quoted = !quoted;
      else if (line[i] === "," && !quoted) { found.push(name); name = ""; }
      else name += line[i];
    }
    return [...found, name];
  }

  async function opened(event) {
    const file = event.target.files[0];
    if (!file) return;
    table = await file.text();
    const names = columns(table);
    part("target").replaceChildren(...names.map((name) => new Option(name, name)));
    part("target").selectedIndex = names.length - 1;
    part("fit").disabled = false;
    say(`${file.name}: ${names.length} columns. Choose what is to be predicted.`);
  }

  document.addEventListener("DOMContentLoaded", () => {
    if (!part("file")) return;
    part("file").addEventListener("change", opened);
    part("fit").addEventListener("click", fit);
  });
})();
