/* The controller's page: it takes the lists of /api/v1, follows the server-sent events, and draws
 * again only what has changed.  docs/controller.md describes the objects.  Names and last words may
 * hold anything: they are written with textContent alone, after plain(). */
"use strict";

const $ = (id) => document.getElementById(id);

/* ---- Text ------------------------------------------------------------------------------------ */

/* Characters that are not seen, or that change the order of others, are shown by their number. */
function plain(text) {
	return String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (c) => {
		const hex = c.codePointAt(0).toString(16);
		return hex.length <= 2 ? "\\x" + hex.padStart(2, "0") : "\\u" + hex.padStart(4, "0");
	});
}
const NONE = "\u2013";
const known = (x) => typeof x === "number" && Number.isFinite(x);
const decimals = (x) => (x >= 99.5 ? x.toFixed(0) : x >= 9.95 ? x.toFixed(0) : x.toFixed(1));

/* 100 % is said of what is complete, and of nothing else. */
const percent = (share) => (known(share) ? Math.floor(Math.max(0, Math.min(1, share)) * 100 + 1e-9) + " %" : NONE);
const lossText = (share) => (!known(share) ? NONE : share === 0 ? "0 %" : share < 0.0005 ? "<0.1 %" : (share * 100).toFixed(share < 0.0995 ? 1 : 0) + " %");

function scaled(value, units) {
	if (!known(value))
		return NONE;
	let i = 0;
	while (value >= 999.5 && i < units.length - 1) {
		value /= 1000;
		i++;
	}
	return (i === 0 ? value.toFixed(0) : decimals(value)) + " " + units[i];
}
const rateText = (bits) => scaled(bits, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
const bytesText = (bytes) => scaled(bytes, ["B", "kB", "MB", "GB", "TB"]);

/* "0:41", "12:07", "1:04:00". */
function clock(seconds) {
	if (!known(seconds) || seconds < 0)
		return NONE;
	const s = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
	return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}
function dateText(seconds) {
	if (!known(seconds))
		return NONE;
	const d = new Date(seconds * 1000), two = (n) => String(n).padStart(2, "0");
	return Number.isNaN(d.getTime()) ? NONE : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`;
}
const counted = (n, one, many) => `${n} ${n === 1 ? one : many}`;

/* ---- The document ---------------------------------------------------------------------------- */

/* These write only what differs, so that nothing is laid out in vain. */
function put(element, text) {
	if (element.said !== text) {
		element.said = text;
		element.textContent = text;
	}
}
function putClass(element, name) {
	if (element.className !== name)
		element.className = name;
}
function putAttribute(element, name, value) {
	if (value === null) {
		if (element.hasAttribute(name))
			element.removeAttribute(name);
	} else if (element.getAttribute(name) !== value)
		element.setAttribute(name, value);
}
function make(tag, className, text) {
	const e = document.createElement(tag);
	if (className)
		e.className = className;
	if (text !== undefined)
		put(e, text);
	return e;
}
const SVG = "http://www.w3.org/2000/svg";
function svg(tag, attributes) {
	const e = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(attributes ?? {}))
		e.setAttribute(name, value);
	return e;
}

/* A state: a shape and a word in `element`. */
const SHAPES = new Set(["idle", "booting", "loading", "personalising", "capturing", "verifying", "streaming", "usable", "rebooting", "done", "failed", "stopped", "running", "slow"]);
function putState(element, shape, words) {
	if (!element.use) {
		const picture = svg("svg", { class: "shape", "aria-hidden": "true" });
		element.use = svg("use");
		element.word = make("span");
		picture.append(element.use);
		element.replaceChildren(picture, element.word);
	}
	const name = SHAPES.has(shape) ? shape : "idle";
	putAttribute(element.use, "href", "#s-" + name);
	put(element.word, words);
	putClass(element, "state is-" + name);
}

/* A list of elements, one for each item, kept by the item's key. */
function putList(parent, items, key, create, fill) {
	parent.kept ??= new Map();
	const seen = new Set();
	let at = parent.firstElementChild;
	for (const item of items) {
		const k = key(item);
		let e = parent.kept.get(k);
		seen.add(k);
		if (!e) {
			e = create(item);
			parent.kept.set(k, e);
		}
		fill(e, item);
		if (e === at)
			at = at.nextElementSibling;
		else
			parent.insertBefore(e, at);
	}
	for (const [k, e] of parent.kept)
		if (!seen.has(k)) {
			e.remove();
			parent.kept.delete(k);
		}
}

/* ---- What is known ---------------------------------------------------------------------------- */

const state = {
	sessions: new Map(),	/* by id */
	nodes: new Map(),	/* by name, in the order of the controller */
	images: new Map(),	/* by name */
	away: undefined,	/* why the images may be others now */
	sent: [],	/* what mfrisbeed sends, for whomever */
	history: new Map(),	/* by id, newest first */
	more: false,		/* there may be older ones than those of `history` */
	detail: new Map(),	/* by session id: { samples, members } as they were asked for */
	live: false, lost: 0,	/* since when the events do not come, milliseconds */
	offset: 0,		/* the controller's clock less ours, seconds */
	loading: null,		/* events that came while the lists are on their way */
	shown: null,		/* the session that is drawn */
	view: "sessions", of: null,
};
const now = () => Date.now() / 1000 + state.offset;
const byName = new Intl.Collator("en", { numeric: true }).compare;
const sessionsByAge = () => [...state.sessions.values()].sort((a, b) => b.id - a.id);
const runningSessions = () => sessionsByAge().filter((s) => s.state === "running");

function membersOf(session) {
	if (session.state !== "running")
		return state.detail.get(session.id)?.members ?? [];
	return [...state.nodes.values()].filter((n) => n.session === session.id);
}

/* ---- Trouble ----------------------------------------------------------------------------------- */

const SILENT_S = 15, BEHIND = 0.2;
const AFTER_LOADING = new Set(["personalising", "verifying", "rebooting"]), ARRIVING = new Set(["loading", "capturing", "streaming", "usable"]);
const BUSY = new Set(["booting", "loading", "personalising", "capturing", "verifying", "streaming", "usable", "rebooting"]);

/* What is wrong with a node that is at work; "" if nothing is. */
function troubleOf(node, median) {
	if (node.phase !== "loading")
		return "";
	if (node.slow)
		return "slow " + plain(node.slow);
	if (known(node.silence_s) && node.silence_s > SILENT_S)
		return `silent for ${clock(node.silence_s)}`;
	return known(node.progress) && node.progress < median - BEHIND ? "behind" : "";
}
function medianOfLoading(nodes) {
	const p = nodes.filter((n) => n.phase === "loading" && known(n.progress)).map((n) => n.progress).sort((a, b) => a - b);
	return p.length > 2 ? p[p.length >> 1] : 0;
}
const RANK = { failed: 0, loading: 2, booting: 3, personalising: 4, capturing: 2, verifying: 4, streaming: 4, rebooting: 4, usable: 5, stopped: 5, done: 6, idle: 7 };
/* Each node with its trouble and its rank: what needs somebody comes first. */
function judged(nodes) {
	const median = medianOfLoading(nodes);
	return nodes.map((node) => {
		const trouble = troubleOf(node, median);
		return { node, trouble, rank: trouble ? 1 : RANK[node.phase] ?? 8 };
	});
}
function phaseWords(node, trouble) {
	const again = node.try > 1 && node.phase !== "done" ? `, try ${node.try}` : "";
	return trouble ? trouble : plain(node.phase) + again;
}
const progressOf = (node) => node.phase === "done" || AFTER_LOADING.has(node.phase) ? 1 : ARRIVING.has(node.phase) ? node.progress ?? 0 : node.phase === "failed" || node.phase === "stopped" ? node.progress : undefined;

/* ---- The controller ------------------------------------------------------------------------------ */

const TOKEN_KEY = "frisbee-token";
let token = sessionStorage.getItem(TOKEN_KEY) ?? "";
function keepToken(text) {
	token = text;
	if (text)
		sessionStorage.setItem(TOKEN_KEY, text);
	else
		sessionStorage.removeItem(TOKEN_KEY);
}
/* { ok, status, body }; status 0: there was no answer. */
async function call(method, path, body, withToken) {
	const headers = {};
	if (body !== undefined)
		headers["Content-Type"] = "application/json";
	if (withToken)
		headers.Authorization = "Bearer " + withToken;
	try {
		const answer = await fetch("api/v1/" + path, {
			method, headers, body: body === undefined ? undefined : JSON.stringify(body),
			credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(20000),
		});
		return { ok: answer.ok, status: answer.status, body: await answer.json().catch(() => ({})) };
	} catch {
		return { ok: false, status: 0, body: { error: "the controller does not answer" } };
	}
}
const whyOf = (answer) => plain(answer.body?.error ?? `the controller answered with status ${answer.status}`);

let source = null, again_ms = 1000;
function connect() {
	source?.close();
	source = new EventSource("api/v1/events");
	source.addEventListener("hello", (e) => {
		const hello = parsed(e);
		if (known(hello.time))
			state.offset = hello.time - Date.now() / 1000;
		again_ms = 1000;
		state.detail.clear();
		loadLists();
	});
	for (const kind of ["session", "node", "images"])
		source.addEventListener(kind, (e) => {
			const event = { kind, value: parsed(e) };
			if (state.loading)
				state.loading.push(event);
			else
				take(event);
		});
	source.onerror = onLost;
}
function parsed(event) {
	try {
		return JSON.parse(event.data) ?? {};
	} catch {
		return {};
	}
}
/* The browser connects again by itself, unless it was refused. */
function onLost() {
	if (state.live || !state.lost) {
		state.live = false;
		state.lost = Date.now();
		changed();
	}
	if (source.readyState !== EventSource.CLOSED)
		return;
	setTimeout(connect, again_ms);
	again_ms = Math.min(again_ms * 2, 15000);
}

/* Events that come meanwhile are as new as the lists, or newer: they are taken afterwards. */
async function loadLists() {
	state.loading = [];
	const [sessions, nodes, images] = await Promise.all(["sessions", "nodes", "images"].map((what) => call("GET", what)));
	const waiting = state.loading ?? [];
	state.loading = null;
	if (sessions.ok)
		state.sessions = new Map(sessions.body.sessions.map((s) => [s.id, s]));
	if (nodes.ok)
		state.nodes = new Map(nodes.body.nodes.map((n) => [n.name, n]));
	if (images.ok)
		takeImages(images.body);
	waiting.forEach(take);
	if (sessions.ok && nodes.ok && images.ok) {
		state.live = true;
		state.lost = 0;
	} else
		setTimeout(() => state.live || loadLists(), 2000);
	if (state.view === "history")
		loadHistory();
	changed();
}

function take({ kind, value }) {
	if (kind === "session")
		takeSession(value);
	else if (kind === "node")
		state.nodes.set(value.name, value);
	else
		takeImages(value);
	changed();
}
function takeImages({ images, away }) {
	state.images = new Map((images ?? []).map((i) => [i.name, i]));
	state.away = away;
}
function takeSession(s) {
	const before = state.sessions.get(s.id);
	state.sessions.set(s.id, s);
	if (before && before.state === "running" && s.state !== "running") {
		state.detail.delete(s.id);
		news(`Session ${s.id}, ${plain(s.image)}, is ${plain(s.state)}: ${s.nodes.done} of ${counted(s.nodes.total, "node", "nodes")} done.`);
		if (state.view === "history")
			loadHistory();
	} else if (!before)
		news(`Session ${s.id} has begun: ${plain(s.image)} on ${counted(s.nodes.total, "node", "nodes")}.`);
	const detail = state.detail.get(s.id);
	if (detail?.samples && (s.server?.running || s.nodes.capturing > 0))
		addSample(detail.samples, [s.seconds, rateOf(s) ?? 0, s.server?.share_lost ?? 0, s.progress ?? 0]);
}
/* A session that captures has no frisbeed; its rate is that of its node. */
const rateOf = (s) => s.server?.rate_bits_per_s ?? s.rate_bits_per_s;
const SAMPLES_MAX = 1200;
function addSample(samples, sample) {
	if (samples.length > 0 && sample[0] <= samples[samples.length - 1][0])
		return;
	samples.push(sample);
	if (samples.length > SAMPLES_MAX)
		samples.splice(0, samples.length, ...samples.filter((_, i) => i % 2 === 0));
}
/* The samples and the members of a session are asked for when it is looked at. */
async function loadDetail(id) {
	if (state.detail.has(id))
		return;
	state.detail.set(id, {});
	const answer = await call("GET", "sessions/" + encodeURIComponent(id));
	if (!answer.ok) {
		setTimeout(() => state.detail.delete(id), 3000);
		return;
	}
	const { members, samples, away, ...session } = answer.body;
	if (!state.sessions.has(id) || session.state !== "running")
		state.sessions.set(id, session);
	state.detail.set(id, { members: members ?? [], samples: samples ?? [], away });
	if (away)
		setTimeout(() => state.detail.delete(id), 3000);
	changed();
}
async function loadHistory(before) {
	const answer = await call("GET", "history" + (before ? "?before=" + encodeURIComponent(before) : ""));
	if (!answer.ok)
		return;
	if (!before)
		state.history.clear();
	for (const s of answer.body.history)
		state.history.set(s.id, s);
	state.more = answer.body.history.length >= 1000;
	changed();
}

function news(text) {
	const line = make("span", "", text + " ");
	$("news").append(line);
	while ($("news").childElementCount > 5)
		$("news").firstElementChild.remove();
}

/* ---- Rows of nodes: only those that are seen exist ------------------------------------------------ */

class Rows {
	constructor(box) {
		this.items = [];
		this.kept = new Map();	/* by the node's name: the element of a row that is seen */
		this.free = [];
		this.box = box;
		putClass(box, "rows");
		box.setAttribute("role", "table");
		const top = make("div", "rows-top");
		top.setAttribute("role", "row");
		for (const word of ["node", "phase", "loaded", "rate", "loss", "left", "last words"]) {
			const head = make("span", "", word);
			head.setAttribute("role", "columnheader");
			top.append(head);
		}
		this.body = make("div", "rows-body");
		this.body.setAttribute("role", "rowgroup");
		box.append(top, this.body);
	}
	show(items, label) {
		this.items = items;
		putAttribute(this.box, "aria-label", label);
		putAttribute(this.box, "aria-rowcount", String(items.length + 1));
		this.draw();
	}
	draw() {
		if (this.box.offsetParent === null)
			return;
		const height = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
		const all = `${this.items.length * height}px`;
		if (this.body.style.height !== all)
			this.body.style.height = all;
		const top = this.body.getBoundingClientRect().top;
		const first = Math.max(0, Math.floor(-top / height) - 6);
		const end = Math.min(this.items.length, Math.ceil((innerHeight - top) / height) + 6);
		const seen = new Set();
		for (let i = first; i < end; i++)
			seen.add(this.items[i].node.name);
		for (const [name, row] of this.kept)
			if (!seen.has(name)) {
				this.kept.delete(name);
				row.remove();
				this.free.push(row);
			}
		for (let i = first; i < end; i++)
			this.place(this.items[i], i, height);
	}
	place(item, i, height) {
		const name = item.node.name;
		let row = this.kept.get(name);
		if (!row) {
			row = this.free.pop() ?? this.newRow();
			this.kept.set(name, row);
			this.body.append(row);
		}
		const where = `translateY(${i * height}px)`;
		if (row.style.transform !== where)
			row.style.transform = where;
		putAttribute(row, "aria-rowindex", String(i + 2));
		this.fill(row, item);
	}
	newRow() {
		const row = make("div", "node");
		row.setAttribute("role", "row");
		row.name = make("a", "name");
		row.phase = make("span", "phase");
		row.state = make("span", "state");
		row.phase.append(row.state);
		row.bar = make("span", "bar");
		row.track = make("span", "track");
		row.full = make("i");
		row.pct = make("span", "pct");
		row.track.append(row.full);
		row.bar.append(row.track, row.pct);
		row.cells = ["rate", "loss", "left", "last"].map((c) => make("span", c));
		const name = make("span");
		name.append(row.name);
		for (const e of [name, row.phase, row.bar, ...row.cells]) {
			e.setAttribute("role", "cell");
			row.append(e);
		}
		return row;
	}
	fill(row, { node, trouble }) {
		const busy = ARRIVING.has(node.phase), bad = node.phase === "failed", progress = progressOf(node);
		const [rate, loss, left, last] = row.cells;
		putClass(row, "node" + (bad ? " is-bad" : trouble ? " trouble" : ""));
		put(row.name, plain(node.name));
		putAttribute(row.name, "href", "#/node/" + encodeURIComponent(node.name));
		putState(row.state, trouble ? "slow" : node.phase, phaseWords(node, trouble));
		const scale = `scaleX(${(progress ?? 0).toFixed(3)})`;
		if (row.full.style.transform !== scale)
			row.full.style.transform = scale;
		put(row.pct, progress === undefined ? "" : percent(progress));
		put(rate, busy ? rateText(node.rate_bits_per_s) : "");
		put(loss, busy ? lossText(node.share_lost) : "");
		putClass(loss, "loss" + (busy && node.share_lost > 0.02 ? " high" : ""));
		put(left, busy ? clock(node.seconds_left) : "");
		put(last, plain(node.last_words));
		putAttribute(last, "title", plain(node.last_words));	/* where they are too long for the row */
	}
}
const sessionRows = new Rows($("ses-nodes")), allRows = new Rows($("all-nodes"));

/* ---- Pictures --------------------------------------------------------------------------------------- */

let colours = null;
function colour(name) {
	if (!colours) {
		const style = getComputedStyle(document.documentElement);
		colours = {};
		for (const c of ["accent", "bad", "warn", "muted", "faint", "line", "text", "card"])
			colours[c] = style.getPropertyValue("--" + c).trim();
	}
	return colours[name];
}
/* A canvas of this height, as sharp as the screen, empty. */
function fresh(canvas, height) {
	const scale = devicePixelRatio || 1, width = canvas.clientWidth;
	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
		canvas.style.height = `${height}px`;
	}
	const pen = canvas.getContext("2d");
	pen.setTransform(scale, 0, 0, scale, 0, 0);
	pen.clearRect(0, 0, width, height);
	return pen;
}

const MAP_HEIGHT = 116;
/* Each cell fills from below: nothing was sent of it, some, or all. */
function drawMap(session) {
	const text = session.server?.chunk_map ?? "", canvas = $("map"), width = canvas.clientWidth;
	if (!text) {
		put($("map-words"), "comes as soon as something is sent");
		fresh(canvas, MAP_HEIGHT);
		return;
	}
	const cells = [...text].map((c) => parseInt(c, 16) || 0);
	const rows = Math.max(1, Math.round(Math.sqrt(cells.length * MAP_HEIGHT / width)), Math.ceil(cells.length * 4 / width));
	const columns = Math.ceil(cells.length / rows), pen = fresh(canvas, MAP_HEIGHT);
	const w = Math.min(width / columns, 28), h = Math.min(MAP_HEIGHT / rows, 28);
	const gap = Math.min(w, h) > 5 ? 1.5 : 0.5;
	cells.forEach((level, i) => {
		const x = (i % columns) * w, y = Math.floor(i / columns) * h, part = (h - gap) * level / 15;
		pen.fillStyle = colour("faint");
		pen.fillRect(x, y, w - gap, h - gap);
		pen.fillStyle = colour("accent");
		pen.globalAlpha = level === 15 ? 1 : 0.62;
		pen.fillRect(x, y + h - gap - part, w - gap, part);
		pen.globalAlpha = 1;
	});
	const sum = cells.reduce((a, b) => a + b, 0) / (15 * cells.length);
	const words = `${percent(sum)} of ${counted(session.server.chunks, "chunk", "chunks")}`;
	put($("map-words"), words);
	putAttribute(canvas, "aria-label", `What was sent of the image: ${words}`);
}

const FLEET_BAR = 26;
/* Where the bar of each node is, for a pointer. */
let fleet = { nodes: [], step: 1, columns: 1 };
function drawFleet(list) {
	const canvas = $("fleet"), width = canvas.clientWidth;
	const nodes = [...list].sort((a, b) => byName(a.node.name, b.node.name));
	const step = Math.max(6, Math.min(40, width / Math.max(1, nodes.length)));
	const columns = Math.max(1, Math.floor(width / step)), rows = Math.max(1, Math.ceil(nodes.length / columns));
	const pen = fresh(canvas, rows * (FLEET_BAR + 5));
	fleet = { nodes, step, columns };
	nodes.forEach((item, i) => drawBar(pen, item, (i % columns) * step, Math.floor(i / columns) * (FLEET_BAR + 5), step - Math.min(4, Math.max(1.5, step * 0.16))));
	const failed = nodes.filter((j) => j.node.phase === "failed").length, slow = nodes.filter((j) => j.trouble).length;
	const usable = nodes.filter((j) => j.node.phase === "usable").length;
	const words = [usable > 0 ? `${usable} with a foot: usable` : "", failed > 0 ? `${failed} crossed: failed` : "", slow > 0 ? `${slow} with a mark: slow or silent` : ""].filter(Boolean);
	put($("fleet-words"), words.join(", ") || "a dark bar that is full is done");
}
function drawBar(pen, { node, trouble }, x, y, w) {
	const progress = progressOf(node) ?? 0;
	pen.fillStyle = colour("line");
	pen.fillRect(x, y, w, FLEET_BAR);
	pen.fillStyle = colour(node.phase === "failed" ? "bad" : trouble ? "warn" : node.phase === "stopped" ? "muted" : "accent");
	pen.globalAlpha = node.phase === "done" ? 1 : 0.62;
	pen.fillRect(x, y + FLEET_BAR * (1 - progress), w, FLEET_BAR * progress);
	pen.globalAlpha = 1;
	if (node.phase === "usable")	/* a foot: its system runs */
		pen.fillRect(x, y + FLEET_BAR - 4, w, 4);
	if (node.phase === "failed") {
		pen.strokeStyle = colour("bad");
		pen.lineWidth = 1.6;
		pen.beginPath();
		pen.moveTo(x, y);
		pen.lineTo(x + w, y + FLEET_BAR);
		pen.moveTo(x + w, y);
		pen.lineTo(x, y + FLEET_BAR);
		pen.stroke();
	} else if (trouble)
		pen.fillRect(x, y, w, 3);
}
function fleetAt(event) {
	const i = Math.floor(event.offsetY / (FLEET_BAR + 5)) * fleet.columns + Math.floor(event.offsetX / fleet.step);
	return event.offsetX / fleet.step < fleet.columns ? fleet.nodes[i] : undefined;
}

const CHART = { width: 600, height: 96 };
/* 1, 2 or 5 times a power of ten, above the value. */
function roundUp(value) {
	const power = 10 ** Math.floor(Math.log10(value));
	return [1, 2, 5, 10].map((f) => f * power).find((v) => v >= value * 1.0001) ?? 10 * power;
}
/* A curve over time: column `at` of the samples. */
class Chart {
	constructor(element, words, at, least, say) {
		Object.assign(this, { element, words, at, least, say, samples: [] });
		this.area = svg("path", { class: "area" });
		this.curve = svg("path", { class: "curve" });
		this.cursor = svg("line", { class: "at", y1: 0, y2: CHART.height, visibility: "hidden" });
		element.append(svg("line", { class: "base", x1: 0, x2: CHART.width, y1: CHART.height, y2: CHART.height }), this.area, this.curve, this.cursor);
		this.axis = make("div", "axis");
		this.ends = [make("span"), make("span")];
		this.axis.append(...this.ends);
		element.after(this.axis);
		element.addEventListener("pointermove", (e) => this.point(e));
		element.addEventListener("pointerleave", () => this.unpoint());
	}
	show(samples, running) {
		this.samples = samples;
		const end = samples.length > 0 ? Math.max(samples[samples.length - 1][0], 10) : 10;
		const most = samples.reduce((m, s) => Math.max(m, s[this.at]), 0);
		const top = roundUp(Math.max(most, this.least));
		const dots = samples.map((s) => `${(s[0] / end * CHART.width).toFixed(1)},${(CHART.height * (1 - s[this.at] / top)).toFixed(1)}`);
		putAttribute(this.curve, "d", dots.length > 0 ? "M" + dots.join("L") : "M0,0");
		putAttribute(this.area, "d", dots.length > 1 ? `M${dots[0].split(",")[0]},${CHART.height}L${dots.join("L")}L${dots[dots.length - 1].split(",")[0]},${CHART.height}Z` : "M0,0");
		put(this.ends[0], `0:00, scale to ${this.say(top)}`);
		put(this.ends[1], clock(end));
		this.end = end;
		const last = samples.length > 0 ? samples[samples.length - 1][this.at] : undefined;
		this.usual = samples.length > 0 ? `${running ? "now" : "at the end"} ${this.say(last)}, at most ${this.say(most)}` : running ? "comes as soon as something is sent" : "is not kept";
		putAttribute(this.element, "aria-label", this.usual);
		if (!this.pointed)
			put(this.words, this.usual);
	}
	point(event) {
		const box = this.element.getBoundingClientRect(), t = (event.clientX - box.left) / box.width * this.end;
		const sample = this.samples.reduce((best, s) => (!best || Math.abs(s[0] - t) < Math.abs(best[0] - t) ? s : best), null);
		if (!sample)
			return;
		this.pointed = true;
		const x = sample[0] / this.end * CHART.width;
		this.cursor.setAttribute("x1", x);
		this.cursor.setAttribute("x2", x);
		this.cursor.setAttribute("visibility", "visible");
		put(this.words, `at ${clock(sample[0])}: ${this.say(sample[this.at])}`);
	}
	unpoint() {
		this.pointed = false;
		this.cursor.setAttribute("visibility", "hidden");
		put(this.words, this.usual ?? "");
	}
}
const rateChart = new Chart($("rate"), $("rate-words"), 1, 1e6, rateText);
const lossChart = new Chart($("loss"), $("loss-words"), 2, 0.01, lossText);
$("loss").classList.add("warn");

/* ---- The views ------------------------------------------------------------------------------------------ */

const SHARES = [
	["done", "done", (n) => n.done, "done"],
	["after", "personalising, verifying, streaming or rebooting", (n) => n.personalising + n.verifying + n.streaming + n.rebooting, "personalising"],
	["usable", "usable", (n) => n.usable, "usable"],
	["loading", "loading", (n) => n.loading, "loading"],
	["capturing", "capturing", (n) => n.capturing, "capturing"],
	["booting", "booting", (n) => n.booting, "booting"],
	["stopped", "stopped", (n) => n.stopped, "stopped"],
	["failed", "failed", (n) => n.failed, "failed"],
];
function drawShares(nodes) {
	const parts = SHARES.map(([name, words, count, shape]) => ({ name, words, shape, n: count(nodes) || 0 })).filter((p) => p.n > 0);
	putList($("share-bar"), parts, (p) => p.name, (p) => make("i", "bg-" + p.name), (e, p) => {
		const width = `${p.n / nodes.total * 100}%`;
		if (e.style.width !== width)
			e.style.width = width;
	});
	putAttribute($("share-bar"), "aria-label", parts.map((p) => `${p.n} ${p.words}`).join(", "));
	putList($("share-words"), parts, (p) => p.name, () => {
		const li = make("li");
		li.append(make("span"));
		return li;
	}, (e, p) => putState(e.firstElementChild, p.shape, `${p.n} ${p.words}`));
}

function drawStrip(s) {
	const running = s.state === "running", server = s.server ?? {};
	const facts = [
		["lead", s.capture ? "captured" : running ? "loaded" : "deployed", percent(running ? s.progress : s.share_deployed), ""],
		["", "nodes done", String(s.nodes.done), ` of ${s.nodes.total}`],
		...(s.stream ? [["", "nodes usable", String(s.nodes.usable + s.nodes.done), ` of ${s.nodes.total}`]] : []),
		[s.nodes.failed > 0 ? "bad" : "", "failed", String(s.nodes.failed), ""],
		["", running ? "time left" : "took", clock(running ? s.seconds_left : sessionSeconds(s)), ""],
	];
	if (running)
		facts.push(["", "running for", clock(sessionSeconds(s)), ""]);
	if (server.running || (running && s.capture))
		facts.push(["", "rate", rateText(rateOf(s)), ""]);
	if (server.running)
		facts.push(["", "lost", lossText(server.share_lost), ""]);
	putList($("strip"), facts, (f) => f[1], (f) => {
		const div = make("div");
		div.number = make("span");
		div.unit = make("small");
		const dd = make("dd");
		dd.append(div.number, div.unit);
		div.append(make("dt", "", f[1]), dd);
		return div;
	}, (e, [kind, , number, unit]) => {
		putClass(e, kind);
		put(e.number, number);
		put(e.unit, unit);
	});
}
const sessionSeconds = (s) => Math.max(0, (s.state === "running" ? now() : s.ended ?? s.began + s.seconds) - s.began);

function drawPhases(s) {
	const rows = [...BUSY].filter((p) => s.phases?.[p]).map((p) => ({ phase: p, ...s.phases[p] }));
	for (const [name, m] of [["usable after", s.usable_after], ["done after", s.done_after]])
		if (m)
			rows.push({ phase: name, ...m });
	$("fig-phases").hidden = rows.length === 0;
	putList($("phases").tBodies[0], rows, (r) => r.phase, () => {
		const tr = make("tr");
		for (let i = 0; i < 5; i++)
			tr.append(make("td"));
		return tr;
	}, (tr, r) => [r.phase, String(r.nodes), clock(r.median_s), clock(r.worst_s), plain(r.worst)].forEach((text, i) => put(tr.cells[i], text)));
}

function drawSession(s) {
	const running = s.state === "running", members = membersOf(s), list = judged(members);
	loadDetail(s.id);
	put($("ses-title"), plain(s.image));
	putState($("ses-state"), s.state, plain(s.state));
	put($("ses-sub"), `Session ${s.id}${s.stream ? ", streaming" : ""}${s.capture ? ", capturing" : ""}, ${counted(s.nodes.total, "node", "nodes")}${s.nodes_text ? ` (${plain(s.nodes_text)})` : ""}, began ${dateText(s.began)}`
		+ (s.server?.address ? `, sent to ${plain(s.server.address)}` : ""));
	$("ses-stop").hidden = !running;
	drawStrip(s);
	put($("ses-words"), plain(state.detail.get(s.id)?.away ?? s.last_words));
	putClass($("ses-words"), "words" + (s.nodes.failed > 0 ? " bad" : ""));
	drawShares(s.nodes);
	const samples = state.detail.get(s.id)?.samples ?? [];
	$("fig-map").hidden = s.capture || (!running && !s.server?.chunk_map);
	$("fig-loss").hidden = s.capture === true;
	if (!$("fig-map").hidden)
		drawMap(s);
	rateChart.show(samples, running);
	lossChart.show(samples, running);
	drawPhases(s);
	drawFleet(list);
	list.sort((a, b) => a.rank - b.rank || byName(a.node.name, b.node.name));
	sessionRows.show(list, "Nodes of the session");
}

function drawSessions() {
	const running = runningSessions(), wanted = state.of !== null ? Number(state.of) : null;
	let s = wanted !== null ? state.sessions.get(wanted) : state.sessions.get(state.shown);
	if (wanted !== null && !s)
		loadDetail(wanted);
	if (wanted === null && (!s || s.state !== "running"))
		s = running[0] ?? s;
	state.shown = s?.id ?? null;
	$("session").hidden = !s;
	$("nothing").hidden = Boolean(s) || !state.live;
	const last = sessionsByAge()[0];
	$("last").hidden = !last;
	if (last) {
		putAttribute($("last"), "href", `#/session/${last.id}`);
		put($("last"), `The last one was session ${last.id}, ${plain(last.image)}: ${plain(last.state)}, ${last.nodes.done} of ${counted(last.nodes.total, "node", "nodes")}`);
	}
	putClass($("running"), "running" + (running.length < 2 && (!s || running.includes(s)) ? " single" : ""));
	putList($("running"), running, (r) => r.id, () => {
		const li = make("li"), a = make("a");
		li.link = a;
		a.mark = make("span", "state");
		a.parts = ["no muted", "name", "of muted", "track", "pct", "left muted"].map((c) => make("span", c));
		a.parts[3].append(make("i"));
		a.append(a.mark, ...a.parts);
		li.append(a);
		return li;
	}, (li, r) => {
		const a = li.link, [no, name, of, track, pct, left] = a.parts;
		putAttribute(a, "href", `#/session/${r.id}`);
		putAttribute(a, "aria-current", r.id === state.shown ? "true" : null);
		putState(a.mark, r.nodes.failed > 0 ? "failed" : "running", "");
		put(no, `#${r.id}`);
		put(name, plain(r.image));
		put(of, counted(r.nodes.total, "node", "nodes"));
		track.firstElementChild.style.transform = `scaleX(${r.progress ?? 0})`;
		put(pct, percent(r.progress));
		put(left, clock(r.seconds_left));
	});
	if (s)
		drawSession(s);
}

const SHOWN = {
	all: () => true, trouble: (j) => j.rank < 2, busy: (j) => BUSY.has(j.node.phase),
	done: (j) => j.node.phase === "done", failed: (j) => j.node.phase === "failed", idle: (j) => j.node.phase === "idle" || j.node.phase === "stopped",
};
const ORDERS = {
	trouble: (a, b) => a.rank - b.rank || byName(a.node.name, b.node.name), name: (a, b) => byName(a.node.name, b.node.name),
	progress: (a, b) => (progressOf(a.node) ?? -1) - (progressOf(b.node) ?? -1) || byName(a.node.name, b.node.name), since: (a, b) => (b.node.since ?? 0) - (a.node.since ?? 0),
};
function drawNodes() {
	const find = $("find").value.trim().toLowerCase();
	const list = judged([...state.nodes.values()]).filter(SHOWN[$("show").value])
		.filter(({ node }) => !find || [node.name, node.mac, node.smbios, node.address, node.last_words, node.image].some((t) => String(t ?? "").toLowerCase().includes(find)));
	list.sort(ORDERS[$("order").value]);
	put($("found"), `${list.length} of ${counted(state.nodes.size, "node", "nodes")}`);
	allRows.show(list, "Nodes");
}

function drawNode() {
	const node = state.nodes.get(state.of);
	put($("node-title"), plain(state.of));
	if (!node) {
		putState($("node-state"), "idle", state.live ? "There is no such node." : "");
		$("node-facts").replaceChildren();
		$("node-facts").kept = null;
		$("node-capture").hidden = true;
		return;
	}
	const { trouble } = judged([...state.nodes.values()].filter((n) => n.session === node.session)).find((j) => j.node === node) ?? {};
	putState($("node-state"), trouble ? "slow" : node.phase, phaseWords(node, trouble));
	const facts = [
		["Last words", plain(node.last_words)],
		["In this phase", known(node.since) ? `for ${clock(now() - node.since)}, since ${dateText(node.since)}` : ""],
		[node.phase === "capturing" || node.phase === "verifying" ? "Captured" : "Loaded", progressOf(node) === undefined ? "" : percent(progressOf(node))],
		["Rate", known(node.rate_bits_per_s) ? rateText(node.rate_bits_per_s) : ""],
		["Lost", known(node.share_lost) ? lossText(node.share_lost) : ""],
		["Time left", known(node.seconds_left) ? clock(node.seconds_left) : ""],
		["Heard", known(node.silence_s) ? `${node.silence_s.toFixed(1)} s before the last event` : ""],
		["Try", node.try ? String(node.try) : ""],
		["Phases", Object.entries(node.phases ?? {}).map(([p, s]) => `${plain(p)} ${clock(s)}`).join(", ")],
		["Usable", known(node.usable_after_s) ? `after ${clock(node.usable_after_s)}` : ""],
		["Done", known(node.done_after_s) ? `after ${clock(node.done_after_s)}` : ""],
		["Image", plain(node.image)],
		["MAC address", plain(node.mac)],
		["UUID or serial number", plain(node.smbios)],
		["Address", plain(node.address)],
	].filter(([, text]) => text !== "");
	putList($("node-facts"), facts, (f) => f[0], (f) => {
		const div = make("div");
		div.style.display = "contents";
		div.append(make("dt", "", f[0]), make("dd"));
		return div;
	}, (div, f) => put(div.lastElementChild, f[1]));
	$("node-capture").hidden = BUSY.has(node.phase);
	putAttribute($("node-back"), "href", known(node.session) ? `#/session/${node.session}` : "#/nodes");
	put($("node-back"), known(node.session) ? `Session ${node.session}` : "All nodes");
}

function cellsRow(n) {
	const tr = make("tr");
	for (let i = 0; i < n; i++)
		tr.append(make("td"));
	return tr;
}
function drawImages() {
	const images = [...state.images.values()].sort((a, b) => byName(a.name, b.name));
	put($("images-sum"), images.length > 0 ? `${images.length}, together ${bytesText(images.reduce((sum, i) => sum + (i.bytes || 0), 0))}` : "");
	$("no-images").hidden = images.length > 0 || !state.live || Boolean(state.away);
	$("images-away").hidden = !state.away;
	put($("images-away"), plain(state.away ?? ""));
	$("images").hidden = images.length === 0;
	putList($("images").tBodies[0], images, (i) => i.name, (image) => {
		const tr = cellsRow(5), button = make("button", "", "Start\u2026");
		button.type = "button";
		button.setAttribute("aria-label", `Start a session with ${plain(image.name)}`);
		button.addEventListener("click", () => askStart(image.name));
		tr.cells[1].className = tr.cells[4].className = "num";
		tr.cells[4].append(button);
		return tr;
	}, (tr, i) => [plain(i.name), bytesText(i.bytes), plain(i.version ?? i.store), dateText(i.modified)].forEach((text, c) => put(tr.cells[c], text)));
	drawSent();
}

/* There is no event for it, so it is asked for while somebody looks. */
async function loadSent() {
	if (state.view !== "images" || !state.live || document.hidden)
		return;
	const answer = await call("GET", "sent");
	if (answer.ok)
		state.sent = answer.body.sent;
	changed();
}
function drawSent() {
	$("sent-part").hidden = state.sent.length === 0;
	putList($("sent").tBodies[0], state.sent, (s) => `${s.name} ${s.address}`, () => {
		const tr = cellsRow(6);
		tr.cells[2].className = tr.cells[3].className = tr.cells[4].className = "num";
		return tr;
	}, (tr, s) => [plain(s.name), plain(s.state), String(s.clients_known), String(s.clients_done), rateText(s.rate_bits_per_s), plain(s.address)]
		.forEach((text, c) => put(tr.cells[c], text)));
}

function drawHistory() {
	const list = [...state.history.values()].sort((a, b) => b.id - a.id);
	const done = list.filter((s) => s.state === "done").length;
	put($("history-sum"), list.length > 0 ? `${counted(list.length, "session", "sessions")}, ${done} done` : "");
	$("no-history").hidden = list.length > 0;
	$("history").hidden = list.length === 0;
	$("older").hidden = !state.more;
	putList($("history").tBodies[0], list, (s) => s.id, (s) => {
		const tr = cellsRow(6), a = make("a", "", `Session ${s.id}`);
		a.href = `#/session/${s.id}`;
		tr.cells[0].append(a);
		tr.outcome = make("span", "state");
		tr.cells[2].append(tr.outcome);
		tr.cells[3].className = tr.cells[4].className = "num";
		return tr;
	}, (tr, s) => {
		put(tr.cells[1], plain(s.image));
		putState(tr.outcome, s.state, plain(s.state));
		put(tr.cells[3], `${s.nodes.done} of ${s.nodes.total}`);
		put(tr.cells[4], clock(sessionSeconds(s)));
		put(tr.cells[5], dateText(s.began));
	});
}

function drawHead() {
	const running = runningSessions(), failed = [...state.nodes.values()].filter((n) => n.phase === "failed").length;
	put($("n-sessions"), running.length > 0 ? String(running.length) : "");
	put($("n-nodes"), failed > 0 ? `${failed} failed` : state.nodes.size > 0 ? String(state.nodes.size) : "");
	putClass($("n-nodes"), failed > 0 ? "bad" : "");
	put($("n-images"), state.images.size > 0 ? String(state.images.size) : "");
	putClass($("link"), "link" + (state.live ? "" : " off"));
	put($("link"), state.live ? "live" : state.lost ? "not connected" : "connecting");
	const away = !state.live && state.lost && Date.now() - state.lost > 1500;
	document.documentElement.classList.toggle("stale", Boolean(away));
	$("banner").hidden = !away;
	put($("banner"), away ? "The controller does not answer. Loads go on without it; what is shown here is from before, and is renewed when it is back." : "");
	put($("token"), token ? "May start and stop" : "Read only");
	const first = running[0];
	const title = first ? `${percent(first.progress)} ${plain(first.image)}` : "Frisbee controller";
	if (document.title !== title)
		document.title = title;
}

const VIEWS = { sessions: drawSessions, nodes: drawNodes, node: drawNode, images: drawImages, history: drawHistory };
function draw() {
	drawHead();
	VIEWS[state.view]();
}
/* At most four times a second, and not at all while nobody looks. */
let drawn_ms = 0, waiting = 0;
function changed() {
	if (waiting || document.hidden)
		return;
	waiting = setTimeout(() => requestAnimationFrame(() => {
		waiting = 0;
		drawn_ms = performance.now();
		draw();
	}), Math.max(0, drawn_ms + 250 - performance.now()));
}

function go() {
	const [, view = "", of] = location.hash.split("/");
	const known_view = { "": "sessions", session: "sessions", nodes: "nodes", node: "node", images: "images", history: "history" }[view] ?? "sessions";
	const moved = state.view !== known_view;
	state.view = known_view;
	try {
		state.of = of === undefined ? null : decodeURIComponent(of);
	} catch {
		state.of = null;
	}
	for (const name of Object.keys(VIEWS))
		$("v-" + name).hidden = name !== state.view;
	const current = state.view === "node" ? "nodes" : state.view;
	for (const a of document.querySelectorAll("nav a"))
		putAttribute(a, "aria-current", a.dataset.view === current ? "page" : null);
	if (state.view === "history")
		loadHistory();
	loadSent();
	if (moved) {
		scrollTo(0, 0);
		$("main").focus({ preventScroll: true });
	}
	draw();
}

/* ---- Starting and stopping ----------------------------------------------------------------------------- */

/* Closed by its buttons; opened by show().  What was said of an input is not said of the next one. */
function dialogOf(id, submit) {
	const dialog = $(id), form = dialog.querySelector("form");
	dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
	form.addEventListener("input", () => put(form.querySelector(".said"), ""));
	form.addEventListener("submit", async (e) => {
		e.preventDefault();
		const button = form.querySelector("[type=submit]");
		button.disabled = true;
		await submit();
		button.disabled = false;
	});
	return dialog;
}
let then = null;	/* what to do once there is a token */
const tokenDialog = dialogOf("d-token", async () => {
	const text = $("token-text").value.trim().replace(/^FRISBEE-TOKEN-1\s+/, "");
	if (!/^[\x21-\x7e]+$/.test(text)) {
		put($("token-said"), "A token is made of letters, digits and signs, without spaces.");
		return;
	}
	const answer = await call("GET", "token", undefined, text);
	if (!answer.ok) {
		put($("token-said"), answer.status === 401 ? "The controller does not know this token." : `The token could not be tried: ${whyOf(answer)}`);
		return;
	}
	keepToken(text);
	tokenDialog.close();
	changed();
	then?.();
});
function askToken(why, after) {
	then = after ?? null;
	$("token-text").value = "";
	put($("token-said"), why);
	$("token-forget").hidden = !token;
	tokenDialog.showModal();
}
$("token-forget").addEventListener("click", () => {
	keepToken("");
	tokenDialog.close();
	changed();
});
/* Do it with the token, or ask for one first. */
const withToken = (what) => (token ? what() : askToken("", what));
/* The token was withdrawn: true, and it is asked for again. */
function refused(answer, dialog, what) {
	if (answer.status !== 401)
		return false;
	keepToken("");
	dialog.close();
	changed();
	askToken("The controller does not take this token any more.", what);
	return true;
}

/* The same request starts one session, however often it is sent. */
let request = "";
const newRequest = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
/* Asks the controller for a session, and shows it. */
async function begin(body, dialog, said) {
	const answer = await call("POST", "sessions", body, token);
	if (refused(answer, dialog, () => dialog.showModal()))
		return;
	if (!answer.ok) {
		put(said, whyOf(answer));
		return;
	}
	dialog.close();
	takeSession(answer.body);
	location.hash = `#/session/${answer.body.id}`;
	changed();
}
const startDialog = dialogOf("d-start", async () => {
	const body = { nodes: $("start-nodes").value.trim(), image: $("start-image").value, request,
		timeout_s: Math.round(Number($("start-timeout").value) * 60), tries: Number($("start-tries").value) };
	if ($("start-stream").checked)
		body.stream = true;
	for (const text of ["words", "orders"])
		if ($(`start-${text}`).value.trim())
			body[text] = $(`start-${text}`).value.trim();
	for (const count of ["wait", "until"])
		if ($(`start-${count}`).value)
			body[count] = Number($(`start-${count}`).value);
	if ($("start-rate").value)
		body.bandwidth_bits_per_s = Math.round(Number($("start-rate").value) * 1e6);
	await begin(body, startDialog, $("start-said"));
});
function askStart(image) {
	withToken(() => {
		request = newRequest();
		const names = [...state.images.keys()].sort(byName);
		$("start-image").replaceChildren(...names.map((name) => {
			const option = make("option", "", plain(name));
			option.value = name;
			return option;
		}));
		$("start-image").value = image ?? names[0] ?? "";
		put($("start-count"), state.nodes.size > 0 ? `${counted(state.nodes.size, "node is", "nodes are")} known, from ${plain([...state.nodes.keys()][0])} to ${plain([...state.nodes.keys()].pop())}` : "No node is known.");
		put($("start-said"), "");
		startDialog.showModal();
		$("start-nodes").focus();
	});
}
$("start").addEventListener("click", () => askStart());

let captured = "";
const captureDialog = dialogOf("d-capture", () => begin({ nodes: captured, image: $("capture-image").value.trim(), request,
	capture: true, replace: $("capture-replace").checked }, captureDialog, $("capture-said")));
$("node-capture").addEventListener("click", () => withToken(() => {
	captured = state.of;
	request = newRequest();
	put($("capture-what"), `${plain(captured)} is started from the network, its disk is read, and it starts from its disk again. Nothing on it is changed.`);
	put($("capture-said"), "");
	captureDialog.showModal();
	$("capture-image").focus();
}));
$("token").addEventListener("click", () => askToken(""));

let stopping = null;
const stopDialog = dialogOf("d-stop", async () => {
	const answer = await call("POST", `sessions/${stopping}/stop`, {}, token);
	if (refused(answer, stopDialog, () => stopDialog.showModal()))
		return;
	if (!answer.ok) {
		put($("stop-said"), whyOf(answer));
		return;
	}
	stopDialog.close();
	takeSession(answer.body);
	changed();
});
$("ses-stop").addEventListener("click", () => withToken(() => {
	const s = state.sessions.get(state.shown);
	if (!s)
		return;
	stopping = s.id;
	const left = s.nodes.total - s.nodes.done - s.nodes.failed - s.nodes.stopped, runs = s.nodes.usable + s.nodes.streaming;
	put($("stop-what"), s.capture ? `No image ${plain(s.image)} appears. The disk of the node stays as it is.`
		: `Session ${s.id} with ${plain(s.image)}: ${counted(left, "node is", "nodes are")} not done. A disk that is not complete does not start; it has to be loaded again.`
		+ (runs > 0 ? ` On ${counted(runs, "node", "nodes")} a system runs already, and loses what has not arrived: it waits for that, and fails later.` : ""));
	put($("stop-said"), "");
	stopDialog.showModal();
}));

/* ---- What the browser says --------------------------------------------------------------------------------- */

const THEMES = ["auto", "light", "dark"], THEME_KEY = "frisbee-theme";
function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	put($("theme"), { auto: "Auto", light: "Light", dark: "Dark" }[theme]);
	putAttribute($("theme"), "aria-label", `Colours: ${theme}`);
	colours = null;
	changed();
}
function nextTheme() {
	const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
	localStorage.setItem(THEME_KEY, theme);
	setTheme(theme);
}
$("theme").addEventListener("click", nextTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
	colours = null;
	changed();
});
$("fleet").addEventListener("pointermove", (e) => {
	const item = fleetAt(e);
	putAttribute($("fleet"), "title", item ? `${plain(item.node.name)}: ${phaseWords(item.node, item.trouble)}` : "");
});
$("fleet").addEventListener("click", (e) => {
	const item = fleetAt(e);
	if (item)
		location.hash = "#/node/" + encodeURIComponent(item.node.name);
});
for (const id of ["find", "show", "order"])
	$(id).addEventListener("input", changed);
$("older").addEventListener("click", () => loadHistory(Math.min(...state.history.keys())));
addEventListener("hashchange", go);
let scrolled = 0;
for (const what of ["scroll", "resize"])
	addEventListener(what, () => {
		scrolled ||= requestAnimationFrame(() => {
			scrolled = 0;
			sessionRows.draw();
			allRows.draw();
			if (what === "resize")
				changed();
		});
	}, { passive: true });
document.addEventListener("visibilitychange", changed);
setInterval(changed, 1000);
setInterval(loadSent, 2000);

const theme = localStorage.getItem(THEME_KEY);
setTheme(THEMES.includes(theme) ? theme : "auto");
go();
connect();
