// Where a contract can be broken: each check, comparison, rounding direction, off-by-one, value of a tuple and guard,
// once. All mutants of all contracts go into one build, each behind a switch, since compiling takes minutes and running
// takes seconds: `a < b` becomes `(mutant(7) ? a <= b : a < b)`, and `mutant(7)` is true when the block's coinbase is 7.
import { dirname, relative } from 'node:path';

/** The parts of solc's AST that are read here. `src` is "start:length:file", in bytes. */
export type Node = {
  nodeType: string;
  src: string;
  id?: number;
  name?: string;
  kind?: string;
  operator?: string;
  memberName?: string;
  constant?: boolean;
  typeDescriptions?: { typeIdentifier?: string };
  [key: string]: unknown;
};

export type Mutant = { id: number; file: string; name: string };

/** The text of a range of the file with the mutants inside it in place. */
type Inner = (start: number, end: number) => string;

/** A second place that one mutant rewrites. */
type Helper = { start: number; end: number; render: (inner: Inner) => string };

type Site = {
  start: number;
  end: number;
  place: string;
  change: string;
  render: (inner: Inner, on: string) => string;
};

const NEIGHBOUR: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '==': '!=',
  '!=': '==',
};

/** Where the switch is defined, relative to the project. */
export const SWITCH_FILE = 'src/Mutants.sol';

export const SWITCH = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

function coinbaseNumber() view returns (uint256 named) {
    assembly ("memory-safe") {
        named := coinbase()
    }
}

/// The mutant that the block's coinbase names; zero for none. Pure in name only, so that pure functions can ask.
function activeMutant() pure returns (uint256) {
    function() view returns (uint256) reading = coinbaseNumber;
    function() pure returns (uint256) read;
    assembly ("memory-safe") {
        read := reading
    }
    return read();
}

function mutant(uint256 id) pure returns (bool) {
    return activeMutant() == id;
}
`;

/** The number in `mutant(7)`. */
const numberOf = (on: string) => /\d+/.exec(on)?.[0] ?? '';

function rangeOf(node: Node): [number, number] {
  const [start = 0, length = 0] = node.src.split(':').map(Number);
  return [start, start + length];
}

function children(node: Node): Node[] {
  const found: Node[] = [];
  for (const value of Object.values(node)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== null && typeof item === 'object' && 'nodeType' in item) found.push(item as Node);
    }
  }
  return found;
}

const isUnsigned = (node: Node) =>
  node.typeDescriptions?.typeIdentifier?.startsWith('t_uint') === true;

const isLiteralOne = (node: Node) => node.nodeType === 'Literal' && node['value'] === '1';

/** Zero as an expression of the node's type; undefined for what has none (structs, arrays, enums). */
function zeroOf(node: Node): string | undefined {
  const type = node.typeDescriptions?.typeIdentifier ?? '';
  const name = /^t_(u?int\d+|bytes\d+|address)$/.exec(type)?.[1];
  if (name !== undefined) return `${name}(0)`;
  if (type === 't_bool') return 'false';
  return /^t_bytes_(memory|calldata|storage)/.test(type) ? 'bytes("")' : undefined;
}

/** Finds the sites of one file. `text` has one character a byte (latin1). */
function sitesOf(text: string, ast: Node) {
  const sites: Site[] = [];
  const helpers: Helper[] = [];
  const guards = new Map<string, string>();
  const snippet = (start: number, end: number) =>
    Buffer.from(text.slice(start, end), 'latin1').toString('utf8').replaceAll(/\s+/g, ' ');
  const withSemicolon = (end: number) => text.indexOf(';', end) + 1;

  function add(node: Node, place: string, change: string, render: Site['render'], end?: number) {
    const [start, ownEnd] = rangeOf(node);
    sites.push({ start, end: end ?? ownEnd, place, change, render });
  }

  /** `node` replaced by what `mutate` makes of it. */
  function either(node: Node, place: string, change: string, mutate: (inner: Inner) => string) {
    const [start, end] = rangeOf(node);
    add(node, place, change, (inner, on) => `(${on} ? ${mutate(inner)} : ${inner(start, end)})`);
  }

  function statement(node: Node, place: string, change: string) {
    const [start] = rangeOf(node);
    const end = withSemicolon(rangeOf(node)[1]);
    add(node, place, change, (inner, on) => `{ if (!${on}) ${inner(start, end)} }`, end);
  }

  function binary(node: Node, place: string) {
    const operator = node.operator ?? '';
    const [left, right] = [node['leftExpression'] as Node, node['rightExpression'] as Node];
    const [start, end] = rangeOf(node);
    const [leftStart, leftEnd] = rangeOf(left);
    const [rightStart, rightEnd] = rangeOf(right);
    const neighbour = NEIGHBOUR[operator];
    if (neighbour !== undefined) {
      const change = `${snippet(start, end)} → ${neighbour}`;
      either(node, place, change, (inner) => {
        return `${inner(leftStart, leftEnd)} ${neighbour} ${inner(rightStart, rightEnd)}`;
      });
    } else if (operator === '/' && isUnsigned(node)) {
      either(node, place, `${snippet(start, end)} → rounded up`, (inner) => {
        const [over, under] = [inner(leftStart, leftEnd), inner(rightStart, rightEnd)];
        return `(${over} + ${under} - 1) / ${under}`;
      });
    } else if ((operator === '+' || operator === '-') && isLiteralOne(right)) {
      add(
        right,
        place,
        `${snippet(start, end)} → without the 1`,
        (_inner, on) => `(${on} ? 0 : 1)`,
      );
    }
  }

  function call(node: Node, place: string) {
    const callee = node['expression'] as Node;
    if (callee.nodeType !== 'MemberAccess') return;
    const [start, end] = rangeOf(node);
    const [calleeStart, calleeEnd] = rangeOf(callee);
    const argumentsText = (inner: Inner) => inner(calleeEnd, end).trim().slice(1, -1);
    const target = snippet(calleeStart, calleeEnd);
    const change = `${snippet(start, end)} →`;
    if (target === 'Math.mulDiv' && (node['arguments'] as Node[]).length === 3) {
      either(node, place, `${change} rounded up`, (inner) => {
        return `Math.mulDiv(${argumentsText(inner)}, Math.Rounding.Ceil)`;
      });
    } else if (target === 'Math.min' || target === 'Math.max') {
      const other = target === 'Math.min' ? 'Math.max' : 'Math.min';
      either(node, place, `${change} ${other}`, (inner) => `${other}(${argumentsText(inner)})`);
      for (const [index, part] of (node['arguments'] as Node[]).entries()) {
        const alone = index === 0 ? 'the first alone' : 'the second alone';
        either(node, place, `${change} ${alone}`, (inner) => `uint256(${inner(...rangeOf(part))})`);
      }
    } else if (target === 'Math.ceilDiv') {
      either(node, place, `${change} rounded down`, (inner) => {
        const [over, under] = (node['arguments'] as Node[]).map((part) => inner(...rangeOf(part)));
        return `(${over}) / (${under})`;
      });
    }
  }

  /** `(a, b) = (x, y)`, declared or assigned: each value is zero once. What is written as zero stays. */
  function tuple(value: Node | null | undefined, place: string) {
    if (value?.nodeType !== 'TupleExpression') return;
    const parts = (value['components'] as (Node | null)[]).filter((part) => part !== null);
    if (parts.length < 2) return;
    for (const part of parts) {
      const zero = zeroOf(part);
      if (zero === undefined || part.nodeType === 'Literal') continue;
      either(
        part,
        place,
        `${snippet(...rangeOf(value))}: ${snippet(...rangeOf(part))} → 0`,
        () => zero,
      );
    }
  }

  /** Comparisons in assembly, which cannot call: a pure function reads the switch into a variable before the block. */
  function assembly(node: Node, place: string, isPure: boolean) {
    const [start, end] = rangeOf(node);
    const active = isPure ? `active${start}` : 'coinbase()';
    let count = 0;
    const collect = (yul: Node) => {
      if (yul.nodeType === 'YulFunctionCall') comparison(yul);
      for (const child of children(yul)) collect(child);
    };
    const comparison = (yul: Node) => {
      const name = (yul['functionName'] as Node).name ?? '';
      if (!['lt', 'gt', 'eq', 'iszero'].includes(name)) return;
      count += 1;
      const [yulStart, yulEnd] = rangeOf(yul);
      const flips = name === 'iszero' || name === 'eq';
      const change = `${snippet(yulStart, yulEnd)} → ${flips ? 'negated' : 'or equal'}`;
      add(yul, place, change, (inner, on) => {
        const isOn = `eq(${active}, ${numberOf(on)})`;
        const original = inner(yulStart, yulEnd);
        if (flips) return `xor(${original}, ${isOn})`;
        const [a = '', b = ''] = (yul['arguments'] as Node[]).map((part) =>
          inner(...rangeOf(part)),
        );
        return `or(${original}, and(${isOn}, eq(${a}, ${b})))`;
      });
    };
    collect(node['AST'] as Node);
    if (count === 0 || !isPure) return;
    helpers.push({
      start,
      end,
      render: (inner) => `uint256 ${active} = activeMutant(); ${inner(start, end)}`,
    });
  }

  function visit(node: Node, place: string, isPure: boolean) {
    if (node.nodeType === 'VariableDeclaration' && node.constant === true) return;
    if (node.nodeType === 'InlineAssembly') return assembly(node, place, isPure);
    let inside = place;
    let pureInside = isPure;
    if (node.nodeType === 'ContractDefinition') inside = node.name ?? '';
    if (node.nodeType === 'FunctionDefinition' || node.nodeType === 'ModifierDefinition') {
      inside = `${place}.${node.name === '' ? (node.kind ?? '') : node.name}`;
      pureInside = node['stateMutability'] === 'pure';
    }
    if (node.nodeType === 'ModifierDefinition') {
      const [bodyStart, bodyEnd] = rangeOf(node['body'] as Node);
      const render = (inner: Inner) => {
        const body = inner(bodyStart, bodyEnd);
        guards.set(node.name ?? '', body.slice(1, -1));
        return body;
      };
      helpers.push({ start: bodyStart, end: bodyEnd, render });
    }
    const [start, end] = rangeOf(node);
    if (node.nodeType === 'RevertStatement')
      statement(node, place, `${snippet(start, end)} → left out`);
    else if (node.nodeType === 'ExpressionStatement') {
      const expression = node['expression'] as Node;
      const target = expression['expression'] as Node | undefined;
      if (
        expression.nodeType === 'UnaryOperation' &&
        /^(\+\+|--)$/.test(expression.operator ?? '')
      ) {
        statement(node, place, `${snippet(start, end)} → left out`);
      } else if (expression.nodeType === 'FunctionCall' && target?.name === 'require') {
        statement(node, place, `${snippet(start, end)} → left out`);
      }
    } else if (node.nodeType === 'BinaryOperation') binary(node, place);
    else if (node.nodeType === 'FunctionCall') call(node, place);
    else if (node.nodeType === 'Assignment' && node.operator === '=') {
      tuple(node['rightHandSide'] as Node, place);
    } else if (node.nodeType === 'VariableDeclarationStatement') {
      tuple(node['initialValue'] as Node | null | undefined, place);
    } else if (node.nodeType === 'MemberAccess' && /^(Ceil|Floor)$/.test(node.memberName ?? '')) {
      const other = node.memberName === 'Ceil' ? 'Floor' : 'Ceil';
      either(node, place, `${snippet(start, end)} → ${other}`, () => `Math.Rounding.${other}`);
    } else if (node.nodeType === 'ModifierInvocation' && node.kind === 'modifierInvocation') {
      const guard = snippet(start, end);
      add(node, place, `${guard} → left out`, (_inner, on) => `${guard}Unless${numberOf(on)}`);
    }
    for (const child of children(node)) {
      // A loop's own step is no adjustment, and without it the loop never ends.
      if (node.nodeType === 'ForStatement' && child === node['loopExpression']) continue;
      visit(child, inside, pureInside);
    }
  }

  visit(ast, '', false);
  return { sites, helpers, guards };
}

/** The library's guards with a switch. */
const GUARDS: Record<string, (on: string) => string> = {
  onlyOwner: (on) => `if (!${on}) _checkOwner(); _;`,
  nonReentrant: (on) => `if (!${on}) _nonReentrantBefore(); _; if (!${on}) _nonReentrantAfter();`,
};

export type MutatedFile = {
  file: string;
  text: string; // one character a byte
  mutants: Mutant[];
  guards: Map<string, string>; // bodies of the modifiers that the file defines
};

/** Puts every mutant of a file behind its switch. `firstId` is the number of its first one. */
export function mutate(file: string, source: Buffer, ast: Node, firstId: number): MutatedFile {
  const text = source.toString('latin1');
  const { sites, helpers, guards } = sitesOf(text, ast);
  const seen = new Map<string, number>();
  const mutants = sites.map(({ place, change }, index) => {
    const base = `${place}: ${change}`;
    const times = (seen.get(base) ?? 0) + 1;
    seen.set(base, times);
    return { id: firstId + index, file, name: times === 1 ? base : `${base} (${times})` };
  });

  const placed = [
    ...sites.map((site, index) => ({
      start: site.start,
      end: site.end,
      render: (inner: Inner) => site.render(inner, `mutant(${firstId + index})`),
    })),
    ...helpers,
  ];
  // Outer sites first; of two with one range, the one found first is the outer one.
  const order = placed.map((_site, index) => index);
  order.sort((a, b) => {
    const [x, y] = [placed[a] as Helper, placed[b] as Helper];
    return x.start - y.start || y.end - x.end || a - b;
  });

  /** The text of [start, end) with the sites in it that come after position `from` of the order. */
  function render(start: number, end: number, from: number): string {
    let out = '';
    let at = start;
    for (let position = from; position < order.length; position += 1) {
      const site = placed[order[position] as number] as Helper;
      if (site.start < at || site.end > end) continue;
      out += text.slice(at, site.start);
      out += site.render((innerStart, innerEnd) => render(innerStart, innerEnd, position + 1));
      at = site.end;
    }
    return out + text.slice(at, end);
  }

  const up = relative(dirname(file), SWITCH_FILE);
  const body = render(0, text.length, 0).replace(/^pragma .*$/m, (line) => {
    return `${line}\nimport {activeMutant, mutant} from "${up.startsWith('.') ? up : `./${up}`}";`;
  });
  return { file, text: body, mutants, guards };
}

/** Defines the `<guard>Unless<id>` modifiers that a contract's functions name, before its closing brace. */
export function withGuards(body: string, guards: ReadonlyMap<string, string>): string {
  const parts = body.split(/(?<=\n\})/);
  return parts
    .map((part) => {
      const used = [...part.matchAll(/\b(\w+)Unless(\d+)\b/g)];
      if (used.length === 0 || !part.endsWith('\n}')) return part;
      const definitions = used.map(([name = '', guard = '', id = '']) => {
        const on = `mutant(${id})`;
        const own = guards.get(guard);
        const known = GUARDS[guard];
        if (known !== undefined) return `modifier ${name}() { ${known(on)} }`;
        if (own === undefined) throw new Error(`no body for the modifier ${guard}`);
        const [before = '', after = ''] = own.split('_;');
        return `modifier ${name}() { if (!${on}) { ${before} } _; ${after} }`;
      });
      return `${part.slice(0, -1)}\n    ${definitions.join('\n    ')}\n}`;
    })
    .join('');
}
