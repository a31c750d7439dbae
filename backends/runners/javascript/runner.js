// A runner of CLIP, ROUND and THRESHOLD in JavaScript, for Node: written from backends/RUNNERS.md alone.
//
//     dmlcts run --backend "exec:node runner.js" --operator CLIP,ROUND,THRESHOLD --data-type FLOAT32,INT8

"use strict";
const fs = require("fs");

const MARK = 0x524c4d44;
const HELLO = 1, CREATE = 2, DISPATCH = 3, CLOSE = 4, PING = 5, BYE = 6;
const OK = 0, NOT_SUPPORTED = 2, EXECUTION_FAILED = 4, BAD_OPTION = 7, BAD_VERSION = 8, BAD_MESSAGE = 10;
const CLIP = 8, THRESHOLD = 32, ROUND = 99;
const MOST_LENGTH = 1 << 30;
const SUITE_VALIDATES = 2, ONLY_CLAIMS = 4;

// By DML_TENSOR_DATA_TYPE: bytes of an element, its least and most value, and how it is read and written.
const TYPES = {
  1: { bytes: 4, floating: true, get: "getFloat32", set: "setFloat32" },
  3: { bytes: 4, least: 0, most: 4294967295, get: "getUint32", set: "setUint32" },
  4: { bytes: 2, least: 0, most: 65535, get: "getUint16", set: "setUint16" },
  5: { bytes: 1, least: 0, most: 255, get: "getUint8", set: "setUint8" },
  6: { bytes: 4, least: -2147483648, most: 2147483647, get: "getInt32", set: "setInt32" },
  7: { bytes: 2, least: -32768, most: 32767, get: "getInt16", set: "setInt16" },
  8: { bytes: 1, least: -128, most: 127, get: "getInt8", set: "setInt8" },
};
const FLOATS = 1 << 1;
const NUMBERS = Object.keys(TYPES).reduce((bits, type) => bits | (1 << type), 0);

// Bytes in and out.

function read(size) {
  const bytes = Buffer.alloc(size);
  for (let have = 0; have < size; ) {
    const count = fs.readSync(0, bytes, have, size - have, null);
    if (count === 0) process.exit(0); // the suite has gone
    have += count;
  }
  return bytes;
}

function write(bytes) {
  for (let sent = 0; sent < bytes.length; ) sent += fs.writeSync(1, bytes, sent, bytes.length - sent);
}

function reply(request, status, ...parts) {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(MARK, 0);
  header.writeUInt16LE(request.kind | 0x8000, 4);
  header.writeUInt16LE(status, 6);
  header.writeBigUInt64LE(request.number, 8);
  header.writeBigUInt64LE(BigInt(parts.reduce((sum, part) => sum + part.length, 0)), 16);
  write(Buffer.concat([header, ...parts]));
}

class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

function demand(right, text) {
  if (!right) throw new Refusal(BAD_MESSAGE, text);
}

function numbers(...values) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeUInt32LE(value, 4 * index));
  return bytes;
}

// The messages.

const kernels = new Map();

function onHello(payload) {
  demand(payload.length >= 48 && payload.length === 48 + 1024 * payload.readUInt32LE(28), "hello has another length");
  const oldest = payload.readUInt32LE(16), newest = payload.readUInt32LE(20);
  if (oldest > 1 || newest < 1) throw new Refusal(BAD_VERSION, "this runner speaks version 1");
  if (payload.length > 48) throw new Refusal(BAD_OPTION, "this runner has no options");
  const bytes = Buffer.alloc(560);
  bytes.write("dmlcts-runner/1", 0);
  bytes.writeUInt32LE(1, 16);
  bytes.writeUInt32LE(0x5000, 20);
  bytes.writeUInt32LE(SUITE_VALIDATES | ONLY_CLAIMS, 24);
  bytes.writeUInt32LE(3, 28);
  bytes.writeBigUInt64LE(BigInt(MOST_LENGTH), 40);
  bytes.write("javascript", 48);
  bytes.write("the processor", 112);
  bytes.write("Node", 368);
  bytes.write(process.version, 496);
  return [bytes, numbers(CLIP, NUMBERS, THRESHOLD, NUMBERS, ROUND, FLOATS)];
}

function readTensor(payload, at) {
  const rank = payload.readUInt32LE(at + 12);
  demand(rank <= 16, "a tensor has more than 16 dimensions");
  const sizes = [], strides = [];
  for (let axis = 0; axis < rank; axis++) {
    sizes.push(payload.readUInt32LE(at + 32 + 4 * axis));
    strides.push(payload.readUInt32LE(at + 96 + 4 * axis));
  }
  if (payload.readUInt32LE(at + 16) === 0) {
    for (let axis = rank - 1, step = 1; axis >= 0; step *= sizes[axis--]) strides[axis] = step;
  }
  return { type: payload.readUInt32LE(at + 4), sizes, strides };
}

function onCreate(payload) {
  demand(payload.length >= 24, "create is too short");
  const number = payload.readUInt32LE(0), operator = payload.readUInt32LE(4);
  const tensorCount = payload.readUInt32LE(8), attributeCount = payload.readUInt32LE(12);
  demand(tensorCount <= 16 && attributeCount <= 16, "create has too many members");
  demand(payload.length === 24 + 160 * tensorCount + 24 * attributeCount, "create has another length");
  demand(!kernels.has(number), "a kernel has this number already");
  const kernel = { operator, tensors: {}, min: 0, max: 0, mode: 0, scale: null, bias: 0 };
  for (let index = 0; index < tensorCount; index++) {
    const at = 24 + 160 * index;
    kernel.tensors[payload.readUInt32LE(at)] = readTensor(payload, at);
  }
  const [input, output] = [kernel.tensors[0], kernel.tensors[1]];
  const known = [CLIP, THRESHOLD, ROUND].includes(operator) && input && output && TYPES[input.type];
  if (!known) throw new Refusal(NOT_SUPPORTED, `operator ${operator} on this type is not implemented`);
  kernel.type = TYPES[input.type];
  for (let index = 0; index < attributeCount; index++) {
    const at = 24 + 160 * tensorCount + 24 * index;
    const member = payload.readUInt32LE(at), kind = payload.readUInt32LE(at + 4), value = at + 16;
    if (kind === 3) [kernel.scale, kernel.bias] = [payload.readFloatLE(value), payload.readFloatLE(value + 4)];
    else if (operator === ROUND) kernel.mode = payload.readUInt32LE(value);
    else kernel[member === 3 ? "min" : "max"] = bound(kernel.type, payload.readFloatLE(value));
  }
  kernels.set(number, kernel);
  return [numbers(number, 0)];
}

function onDispatch(payload) {
  demand(payload.length >= 24, "dispatch is too short");
  const number = payload.readUInt32LE(0), count = payload.readUInt32LE(4), place = payload.readUInt32LE(8);
  const size = payload.readBigUInt64LE(16);
  demand(count <= 16 && place === 0, "dispatch has too many bindings, or a memory that nobody shared");
  demand(BigInt(payload.length) === 24n + 24n * BigInt(count) + size, "dispatch has another length");
  const kernel = kernels.get(number);
  demand(kernel !== undefined, "there is no kernel of this number");
  const memory = payload.subarray(24 + 24 * count), regions = {};
  for (let index = 0; index < count; index++) {
    const at = 24 + 24 * index;
    const offset = payload.readBigUInt64LE(at + 8), bytes = payload.readBigUInt64LE(at + 16);
    demand(offset + bytes <= size, "a binding does not lie in the memory");
    regions[payload.readUInt32LE(at)] = { offset: Number(offset), size: Number(bytes) };
  }
  run(kernel, memory, regions);
  return [numbers(number, place), payload.subarray(16, 24), memory];
}

function onClose(payload) {
  demand(payload.length === 8 && kernels.delete(payload.readUInt32LE(0)), "there is no kernel of this number");
  return [];
}

function onPing(payload) {
  demand(payload.length === 8, "ping has another length");
  return [payload];
}

// The operators.

function bound(type, given) {
  if (type.floating) return given;
  if (Number.isNaN(given)) return 0;
  return Math.max(type.least, Math.min(type.most, Math.trunc(given)));
}

function rounded(x, mode) {
  if (mode === 1) return Math.trunc(x);
  const size = Math.abs(x), below = Math.floor(size), rest = size - below; // exact: FLOAT32 in a number of 53 bits
  const up = rest > 0.5 || (rest === 0.5 && (mode === 2 || below % 2 === 1));
  return Number.isFinite(x) ? Math.sign(x) * (up ? below + 1 : below) : x;
}

function computed(kernel, x) {
  if (kernel.operator === ROUND) return rounded(x, kernel.mode);
  if (kernel.scale !== null && kernel.type.floating) {
    x = Math.fround(Math.fround(x * kernel.scale) + kernel.bias);
  } else if (kernel.scale !== null && !(kernel.scale === 1 && kernel.bias === 0)) {
    x = bound(kernel.type, x * kernel.scale + kernel.bias);
  }
  if (kernel.operator === CLIP && !(x < kernel.max)) x = kernel.max; // NaN gives Max
  return x > kernel.min ? x : kernel.min;
}

function run(kernel, memory, regions) {
  const type = kernel.type, view = new DataView(memory.buffer, memory.byteOffset, memory.byteLength);
  const [input, output] = [kernel.tensors[0], kernel.tensors[1]];
  if (!regions[0] || !regions[1]) throw new Refusal(EXECUTION_FAILED, "a tensor is not bound");
  const at = input.sizes.map(() => 0);
  for (;;) {
    let from = 0, to = 0;
    for (let axis = 0; axis < at.length; axis++) {
      from += at[axis] * input.strides[axis];
      to += at[axis] * output.strides[axis];
    }
    const x = view[type.get](regions[0].offset + from * type.bytes, true);
    view[type.set](regions[1].offset + to * type.bytes, computed(kernel, x), true);
    let axis = at.length - 1;
    while (axis >= 0 && ++at[axis] === input.sizes[axis]) at[axis--] = 0;
    if (axis < 0) return;
  }
}

// The conversation.

const HANDLERS = { [HELLO]: onHello, [CREATE]: onCreate, [DISPATCH]: onDispatch, [CLOSE]: onClose, [PING]: onPing };

let greeted = false;
for (;;) {
  const header = read(24);
  const request = { kind: header.readUInt16LE(4), number: header.readBigUInt64LE(8) };
  try {
    demand(header.readUInt32LE(0) === MARK && header.readUInt16LE(6) === 0, "what arrived is no message");
    const length = header.readBigUInt64LE(16);
    demand(length <= BigInt(MOST_LENGTH), "the message is too long");
    if (request.kind === BYE) {
      reply(request, OK);
      process.exit(0);
    }
    demand(request.kind in HANDLERS, "there is no such message");
    demand(greeted === (request.kind !== HELLO), "hello comes first, and once");
    const parts = HANDLERS[request.kind](read(Number(length)));
    greeted = true;
    reply(request, OK, ...parts);
  } catch (error) {
    const status = error instanceof Refusal ? error.status : EXECUTION_FAILED;
    reply(request, status, Buffer.from(String(error.message).slice(0, 1000)));
    if (status === BAD_MESSAGE || !greeted) process.exit(1);
  }
}
