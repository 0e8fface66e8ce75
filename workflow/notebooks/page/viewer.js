// The viewer of episodes. Everything that a model wrote enters the page as text nodes, never as markup.
(async () => {
  "use strict";
  const CUT = 3000; // characters of a reply or an answer that are shown at first
  const at = (id) => document.getElementById(id);
  const packed = at("episode-data");
  if (!packed) return;
  const viewer = at("viewer"), say = at("viewer-say"), shown = at("episode");
  viewer.hidden = false;
  if (!("DecompressionStream" in window)) {
    say.textContent = "This browser cannot unpack the episodes; any browser of 2023 or later can.";
    return;
  }

  // ---- the data: texts, queries, episodes (see paper/report/viewer.py) ----
  const bytes = Uint8Array.from(atob(packed.textContent.trim()), (c) => c.charCodeAt(0));
  packed.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const texts = [], queries = new Map(), episodes = [], words = {};
  for (const line of (await new Response(stream).text()).split("\n")) {
    if (!line) continue;
    const { labels, text, query, episode } = JSON.parse(line);
    if (labels) Object.assign(words, labels);
    else if (text !== undefined) texts.push(text);
    else if (query) queries.set(`${query.split} ${query.idx}`, query);
    else episodes.push(episode);
  }
  const FIELDS = ["source", "run", "step", "query"];
  for (const e of episodes) {
    e.query = queries.get(`${e.split} ${e.idx}`);
    e.keys = {
      source: e.source,
      run: `${e.model}, ${e.regime}, seed ${e.seed}`,
      step: String(e.step),
      query: String(e.idx),
    };
  }

  // ---- pieces of the page ----
  // Marks that turn the direction of text around are shown by their names, half characters as unknown ones.
  const visible = (text) => {
    const whole = String(text);
    const code = (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
    return (whole.toWellFormed?.() ?? whole).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, code);
  };
  const make = (tag, name, ...content) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.append(...content.filter((c) => c !== null).map((c) => (c instanceof Node ? c : visible(c))));
    return element;
  };
  const fold = (title, name, content) => make("details", name, make("summary", "", title), content);
  const number = (n) => Number(n).toLocaleString("en", { maximumFractionDigits: 3 });
  const pretty = (text) => {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  };
  const block = (text) => {
    const whole = pretty(text), box = make("pre", "", whole.slice(0, CUT));
    box.tabIndex = 0;
    if (whole.length <= CUT) return box;
    const button = make("button", "", `Show all ${number(whole.length)} characters`);
    button.type = "button";
    button.onclick = () => {
      box.textContent = visible(whole);
      button.remove();
      box.focus();
    };
    return make("div", "", box, button);
  };
  const table = (headings, rows) => {
    const line = (tag, cells) => make("tr", "", ...cells.map((c) => make(tag, "", c)));
    const box = make("div", "scroll", make("table", "", make("thead", "", line("th", headings)), make("tbody", "", ...rows.map((r) => line("td", r)))));
    box.tabIndex = 0;
    return box;
  };

  // ---- the plan ----
  const NOTHING = "-";
  const leg = (t) => {
    const times = t.departure_time || t.arrival_time ? `${t.departure_time ?? "?"} to ${t.arrival_time ?? "?"}` : null;
    const price = t.cost === undefined ? null : `cost ${t.cost}`;
    return [`${t.mode}${t.flight_number ? " " + t.flight_number : ""}`, `${t.from} → ${t.to}`, times, t.duration, t.distance && `distance ${t.distance}`, price]
      .filter(Boolean).join(", ");
  };
  const day = (d) => {
    const city = typeof d.city === "string" ? d.city : `${d.city.from} → ${d.city.to}`;
    const list = make("dl", "");
    const put = (name, value) => {
      if (value === NOTHING || value === undefined) return;
      list.append(make("dt", "", name), make("dd", "", make("bdi", "", value)));
    };
    put("Travel", d.transportation === NOTHING ? NOTHING : leg(d.transportation));
    put("Breakfast", d.breakfast);
    put("Lunch", d.lunch);
    put("Dinner", d.dinner);
    put("Sights", Array.isArray(d.attraction) ? d.attraction.join("; ") : d.attraction);
    put("Night", d.accommodation);
    return make("li", "", make("h5", "", `Day ${d.days}: `, make("bdi", "", city)), list);
  };
  const itinerary = (e) =>
    e.plan ? make("ol", "days", ...e.plan.map(day)) : make("p", "bad", "No plan: ", make("bdi", "", e.fault ?? "no answer"));

  // ---- constraints and rewards ----
  const named = (name) => name.replace(/^(is_)?(valid_)?/, "").replaceAll("_", " ");
  const mark = (holds, otherwise) =>
    holds === null || holds === undefined ? make("span", "none", otherwise) : holds ? make("span", "good", "✓ met") : make("span", "bad", "✗ failed");
  const constraints = (e) => {
    if (!e.verdicts) return make("p", "note", "The constraints of this query are hidden, or its database is not here.");
    const { official, strict } = e.verdicts, rows = [];
    if (!official.delivered) return make("p", "note", "None was judged: there is no plan.");
    const put = (key, otherwise) => {
      const reasons = [...new Set([official, strict].map((v) => v.reasons[key]))].filter(Boolean);
      const why = reasons.length ? make("div", "why", `${words[key]}: ${reasons.join("; ")}`) : null;
      const name = make("div", "", named(key), why);
      name.title = key;
      rows.push([name, mark((official.commonsense[key] ?? official.hard?.[key]), otherwise), mark((strict.commonsense[key] ?? strict.hard?.[key]), otherwise)]);
    };
    Object.keys(official.commonsense).forEach((key) => put(key, "not judged"));
    const hard = official.hard ?? strict.hard ?? {};
    Object.keys(hard).filter((key) => hard[key] !== null).forEach((key) => put(key, "not reached"));
    const told = official.hard ? null : make("p", "note", "The query's own constraints are judged once all names are in the database and nothing is absent.");
    return make("div", "", table(["Constraint", "Official", "Strict"], rows), told);
  };
  const rewards = (e) => {
    if (!e.sub_rewards) return null;
    const rows = [...Object.entries(e.sub_rewards).map(([k, v]) => [k, number(v)]), ["reward", number(e.reward)]];
    return make("div", "", make("h4", "", "Sub-rewards"), table(["Part", "Value"], rows));
  };
  const tokens = (e) => Object.entries(e.tokens ?? {}).map(([k, v]) => `${number(v)} ${k}`).join(", ");
  const outcome = (e) => {
    const cost = e.verdicts?.official.total_cost, q = e.query;
    const facts = make("dl", "");
    const put = (name, value) => value !== undefined && value !== null && value !== "" && facts.append(make("dt", "", name), make("dd", "", value));
    put("Query", `${q.level}, ${q.days} days, ${q.org} → ${q.dest}${q.people_number ? `, people: ${q.people_number}` : ""}${q.budget ? `, budget ${number(q.budget)}` : ""}`);
    put("Cost of the plan", cost === undefined || cost === null ? null : number(cost));
    put("Ended by", e.end_reason?.replaceAll("_", " "));
    put("Turns", e.turns);
    put("Tokens", tokens(e));
    put("Noise", e.noise);
    return make("div", "outcome", make("h3", "", "Plan and verdict"), facts, make("h4", "", "Itinerary"), itinerary(e), make("h4", "", "Constraints"), constraints(e), rewards(e));
  };

  // ---- the dialogue ----
  const size = (text) => `${number(text.length)} characters`;
  const call = (text) => {
    try {
      const { name, arguments: given, ...more } = JSON.parse(text);
      if (typeof name === "string" && given !== undefined && !Object.keys(more).length)
        return make("div", "", make("code", "tool-name", name), block(JSON.stringify(given)));
    } catch {
      // shown as it was written
    }
    return make("div", "", "a call that cannot be read", block(text));
  };
  const piece = (kind, role, text) => {
    if (role === "system") return fold(`System prompt, ${size(text)}`, "", make("div", "words", text));
    if (kind === "thought") return fold(`Thought, ${size(text)}`, "", make("div", "words", text));
    if (kind === "answer") return fold(`Answer, ${size(text)}`, "", block(text));
    if (kind === "call") return call(text);
    if (role === "tool") {
      const error = text.trimStart().startsWith('{"error"');
      return fold(`${error ? "Error" : "Reply"}, ${size(text)}`, error ? "error" : "", block(text));
    }
    return make("div", "words", text);
  };
  const dialogue = (e) => {
    const box = make("div", "dialogue", make("h3", "", "Dialogue"));
    let last = null, bubble = null, turn = 0;
    for (const [role, kind, index] of e.parts) {
      if (role !== last) {
        if (role === "assistant") turn += 1;
        bubble = make("div", `said ${role}`, make("div", "who", role === "assistant" ? `model, turn ${turn}` : role));
        box.append(bubble);
        last = role;
      }
      bubble.append(piece(kind, role, texts[index]));
    }
    return box;
  };

  // ---- choosing ----
  const choice = Object.fromEntries(FIELDS.map((f) => [f, at(`choose-${f}`)]));
  const label = { query: (e) => `${e.idx}: ${e.query.level}, ${e.query.days} days, ${e.query.org} → ${e.query.dest}` };
  // at first, the latest of those that could be judged
  const latest = (best, e) => (Boolean(e.verdicts) > Boolean(best.verdicts) || (Boolean(e.verdicts) === Boolean(best.verdicts) && e.step > best.step) ? e : best);
  const wanted = { ...episodes.reduce(latest).keys };
  const show = () => {
    let left = episodes;
    for (const field of FIELDS) {
      const options = new Map(left.map((e) => [e.keys[field], (label[field] ?? ((x) => x.keys[field]))(e)]));
      const keys = [...options.keys()];
      if (field === "step" || field === "query") keys.sort((a, b) => a - b);
      if (!options.has(wanted[field])) wanted[field] = keys[0];
      choice[field].replaceChildren(...keys.map((key) => {
        const option = make("option", "", options.get(key));
        option.value = key;
        option.selected = key === wanted[field];
        return option;
      }));
      for (const [end, name] of [[0, "back"], [keys.length - 1, "on"]]) {
        const button = at(`${field}-${name}`);
        if (button) button.disabled = keys[end] === wanted[field];
      }
      left = left.filter((e) => e.keys[field] === wanted[field]);
    }
    const e = left[0];
    const pass = e.verdicts ? ["official", "strict"].map((p) => `${p} ${e.verdicts[p].final_pass ? "pass ✓" : "fail ✗"}`).join(", ") : "not judged";
    say.replaceChildren(`${e.keys.run}, step ${e.step}, query ${e.idx}: ${pass}${e.reward === null || e.reward === undefined ? "" : `, reward ${number(e.reward)}`}`);
    shown.replaceChildren(outcome(e), dialogue(e));
  };
  const link = () => "#episode/" + FIELDS.map((f) => encodeURIComponent(wanted[f])).join("/");
  const choose = (field, value) => {
    wanted[field] = value;
    show();
    history.replaceState(null, "", link());
  };
  const follow = () => {
    const [place, ...keys] = location.hash.slice(1).split("/");
    if (place !== "episode") return;
    let asked = [];
    try {
      asked = keys.map(decodeURIComponent);
    } catch {
      // not a link that was made here
    }
    if (asked.length === FIELDS.length) FIELDS.forEach((field, i) => (wanted[field] = asked[i]));
    show();
    if (FIELDS.some((field, i) => wanted[field] !== asked[i]))
      say.prepend(make("span", "absent", `The link's episode (${asked.join(", ") || "none"}) is not in this report; another is shown:`));
    at("episodes").scrollIntoView();
  };
  for (const field of FIELDS) {
    choice[field].onchange = () => choose(field, choice[field].value);
    for (const [name, by] of [["back", -1], ["on", 1]]) {
      const button = at(`${field}-${name}`);
      if (button) button.onclick = () => choose(field, choice[field].options[choice[field].selectedIndex + by].value);
    }
  }
  window.addEventListener("hashchange", follow);
  show();
  follow();
})();
