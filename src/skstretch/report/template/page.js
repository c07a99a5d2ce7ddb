(async () => {
  "use strict";
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const byId = (id) => document.getElementById(id);
  const candidates = new Map(data.candidates.map((candidate) => [candidate.index, candidate]));
  const state = { candidate: data.chosen, output: 0 };
  const views = {};

  const write = (x) => {
    if (x === null) return "not known";
    const size = Math.abs(x);
    if (x !== 0 && (size < 1e-4 || size >= 1e6)) {
      const [mantissa, power] = x.toExponential(2).split("e");
      const raised = [...String(Number(power))].map((d) => (d === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[d])).join("");
      return `${mantissa.replace(/\.?0+$/, "")} × 10${raised}`.replaceAll("-", "−");
    }
    const [whole, part] = String(Number(x.toPrecision(4))).split(".");
    const marked = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return (part ? `${marked}.${part}` : marked).replaceAll("-", "−");
  };

  // no property of an object begins so: names of users cannot meet "constructor" or "__proto__"
  const key = (name) => "\u200b" + name;

  const fit = () => data.fits[state.candidate];
  const picture = () => {
    const one = fit();
    return one ? one.pictures[Math.min(state.output, one.pictures.length - 1)] : null;
  };

  const topRows = () => {
    const shown = picture();
    if (!shown) return [];
    return shown.top.map((j, i) => {
      const slope = shown.slopes[i];
      const effect = slope * data.scales[j];
      return { place: i, name: data.features[j], key: key(data.features[j]), slope, effect, sign: effect > 0 ? "raises" : "lowers" };
    });
  };

  const profileRows = () => {
    const shown = picture();
    if (!shown) return [];
    return shown.profile.map((slope, i) => {
      const row = { at: data.along[i], name: String(data.along[i]), slope };
      if (!data.grouped) return row;
      const [low, high] = [shown.low[i], shown.high[i]];
      return { ...row, low, high, range: `${write(low)} to ${write(high)}` };
    });
  };

  const points = () => {
    const one = fit();
    if (!one || !one.predicted.length) return [];
    const at = state.output;
    const lower = state.candidate === data.chosen && data.lower.length ? data.lower[at] : null;
    return data.samples.flatMap((sample, i) => {
      const observed = data.observed[at][i], predicted = one.predicted[at][i];
      if (predicted === null) return [];
      const low = lower ? lower[i] : null, high = lower ? data.upper[at][i] : null;
      const known = low !== null && high !== null;
      const inside = !known ? "plain" : low <= observed && observed <= high ? "inside" : "outside";
      const interval = known ? `${write(low)} to ${write(high)}` : "none";
      return [{ sample, observed, predicted, lower: low, upper: high, state: inside, interval }];
    });
  };

  const diagonal = () => {
    const values = data.observed.length ? data.observed[state.output] : [0, 1];
    return [Math.min(...values), Math.max(...values)].map((v) => ({ observed: v, predicted: v }));
  };

  const curves = () => (fit()?.curves ?? []).flatMap((curve) =>
    curve.x.map((x, step) => ({ x, y: curve.y[step], step, label: key(curve.label), area: curve.area })));

  const confusion = () => (fit()?.confusion ?? []).flatMap((counts, i) => {
    const total = counts.reduce((sum, n) => sum + n, 0) || 1;
    return counts.map((count, j) => ({
      observed: key(data.classes[i]), predicted: key(data.classes[j]), count, share: count / total,
      level: Math.round((data.levels - 1) * count / total),
    }));
  });

  const place = (index) => (candidates.has(index) ? [candidates.get(index)] : []);
  const sources = {
    surface: { candidates: () => data.candidates, chosen: () => data.framed.flatMap(place), picked: () => place(state.candidate) },
    fit: { points, diagonal },
    roc: { curves },
    confusion: { confusion },
    top: { top: () => topRows().slice(0, data.bars) },
    profile: { profile: profileRows },
    null: { null: () => data.null, own: () => data.statistic },
    calibration: { calibration: () => data.calibration[Math.min(state.output, data.calibration.length - 1)] ?? [] },
  };

  data.explained.forEach((one, i) => { sources[`sample${i}`] = { shares: () => one.bars }; });

  const embed = async (name) => {
    const spec = data.specs[name];
    sources[name] ??= { [name]: () => data[name] };
    const filled = Object.entries(sources[name]).map(([key, rows]) => [key, rows()]);
    spec.datasets = { ...spec.datasets, ...Object.fromEntries(filled) };
    const result = await window.vegaEmbed(byId(`chart-${name}`), spec, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, logLevel: 1,
      config: data.config, formatLocale: data.locale, tooltip: { disableDefaultStyle: true },
    });
    views[name] = result.view;
  };

  const refresh = (name) => {
    const view = views[name];
    if (!view) return null;
    for (const [key, rows] of Object.entries(sources[name])) {
      if (!["candidates", "chosen"].includes(key)) view.data(key, rows());
    }
    return view.runAsync();
  };

  const fillTable = () => {
    const body = document.querySelector("#top-table tbody");
    const rows = topRows();
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = row.name;
      line.append(head, ...[row.slope, row.effect].map((value) => {
        const box = document.createElement("td");
        box.textContent = write(value);
        return box;
      }));
      return line;
    }));
    byId("top-count").textContent = rows.length;
  };

  const describe = () => {
    const candidate = candidates.get(state.candidate), one = fit();
    const own = state.candidate === data.chosen;
    const several = data.outputs.length > 1 ? ` (${data.outputs[state.output]})` : "";
    const note = one
      ? one.notes[Math.min(state.output, one.notes.length - 1)] + (one.notes.length > 1 ? several : "")
      : "Of this model only the error is in this file, not its coefficients.";
    byId("candidate-name").textContent = own ? data.own[0] : "Picked model";
    byId("candidate-text").textContent = own ? data.own[1] : candidate.text;
    byId("live").textContent = note;
    const name = candidate ? candidate.name : data.framed.length > 1 ? "the average" : "the model";
    const labels = {
      fit: `Observed values against out-of-fold predictions of ${name}: ${note}`,
      roc: `ROC curves of out-of-fold scores of ${name}: ${note}`,
      confusion: `Confusion matrix of out-of-fold predictions of ${name}: ${note}`,
      top: `Strongest features of ${name}${several}: ` + topRows().slice(0, 5)
        .map((row) => `${row.name} ${row.sign} by ${write(Math.abs(row.effect))}`).join(", "),
      profile: `Slopes along the features of ${name}${several}; the table of the strongest has numbers`,
    };
    for (const [key, label] of Object.entries(labels)) byId(`chart-${key}`)?.setAttribute("aria-label", label);
  };

  const show = async () => {
    describe();
    fillTable();
    const select = byId("pick-candidate"), back = byId("back");
    if (select) select.value = fit() ? String(state.candidate) : "";
    if (back) back.disabled = state.candidate === data.chosen;
    await Promise.all(["surface", "fit", "roc", "confusion", "top", "profile", "calibration"].map(refresh));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    document.documentElement.dataset.candidate = state.candidate;
  };

  const pick = (index) => {
    if (index === state.candidate || !(candidates.has(index) || index === data.chosen)) return;
    state.candidate = index;
    show();
  };

  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const onKey = (event) => {
    if (event.key === "Home") { event.preventDefault(); return pick(data.chosen); }
    const step = steps[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return undefined;
    event.preventDefault();
    // an average has no place of its own: its heaviest model is where keys start
    if (!candidates.has(state.candidate)) return pick(data.framed[0]);
    const [row, column] = candidates.get(state.candidate).at;
    const ahead = data.candidates.filter((candidate) => {
      const down = candidate.at[0] - row, right = candidate.at[1] - column;
      return step[0] ? right === 0 && down * step[0] > 0 : down === 0 && right * step[1] > 0;
    });
    const far = (candidate) => Math.abs(candidate.at[0] - row) + Math.abs(candidate.at[1] - column);
    ahead.sort((one, two) => far(one) - far(two));
    return ahead.length ? pick(ahead[0].index) : undefined;
  };

  await Promise.all(Object.keys(data.specs).map(embed));
  byId("chart-surface")?.addEventListener("keydown", onKey);
  views.surface?.addEventListener("click", (event, item) => {
    if (item?.datum?.index !== undefined) pick(item.datum.index);
  });
  byId("pick-candidate")?.addEventListener("change", (event) => pick(Number(event.target.value)));
  byId("back")?.addEventListener("click", () => pick(data.chosen));
  byId("pick-output")?.addEventListener("change", (event) => {
    state.output = Number(event.target.value);
    show();
  });
  await show();
  document.documentElement.dataset.ready = "true";
})();
