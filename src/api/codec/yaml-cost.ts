import { Lexer } from 'yaml'
import { tooLarge } from '../errors/standard-errors.ts'
import { JSON_DEPTH_MAX, tooDeep } from './json.ts'

/**
 * The limit on the estimated cost of parsing a YAML body: one for each character, eight more for
 * each line of a text, 32 more for each token. That is roughly proportional to the time that the
 * library takes: 0.1 µs for a character, 0.5 µs for a line, and 2 to 3 µs for a token. A megabyte
 * of text in one value is accepted, and so is a list of a thousand small objects, while no body
 * blocks the thread for more than 250 ms. JSON has only the general body limits, even with a YAML
 * media type.
 */
export const YAML_COST_MAX = 2 * 1024 * 1024
const TOKEN_COST = 32
const LINE_COST = 8

/** Anchors and aliases together: the library compares each alias with all of them. */
export const YAML_ANCHORS_MAX = 250

/**
 * Checks the tokens, before the text is parsed.
 *
 * @throws ApiError RequestEntityTooLarge; BadRequest: too deep
 */
export function checkYamlCost(text: string): void {
  let cost = text.length
  refuseAbove(cost)
  let anchors = 0
  let before = ''
  const depth = new DepthOfTokens()
  for (const token of new Lexer().lex(text)) {
    cost += TOKEN_COST + linesOf(token) * LINE_COST
    refuseAbove(cost)
    if (token.length > NUMBER_LENGTH_MAX && WHOLE_NUMBER.test(token)) {
      throw tooLarge(`limit for a number in YAML is ${NUMBER_LENGTH_MAX} characters; put texts in quotes`)
    }
    if (before !== SCALAR && (token.startsWith('&') || token.startsWith('*'))) anchors++
    if (anchors > YAML_ANCHORS_MAX) {
      throw tooLarge(`limit for YAML is ${YAML_ANCHORS_MAX} anchors and aliases; send it without, or as JSON`)
    }
    if (before !== SCALAR) depth.add(token)
    before = token
  }
}

/**
 * Converting the digits of an integer takes more than linear time, so their number is limited. No
 * number that a double can hold needs as many.
 */
const NUMBER_LENGTH_MAX = 1024
/** Decimal, octal, hexadecimal and binary integers of YAML 1.1. */
const WHOLE_NUMBER = /^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$/

/**
 * A lower bound of the depth of a text: the depth of flow collections, or of block collections that
 * begin in one line. Parsing a text that is much too deep takes a multiple of its estimated cost.
 */
class DepthOfTokens {
  #flow = 0
  #inLine = 0

  /** @param token not the text of a scalar @throws ApiError */
  add(token: string): void {
    if (token === '{' || token === '[') this.#flow++
    else if (token === '}' || token === ']') this.#flow--
    else if (token === '-' || token === '?') this.#inLine++
    else if (token.startsWith('\n') || token.startsWith('\r')) this.#inLine = 0
    if (this.#flow > JSON_DEPTH_MAX || this.#inLine > JSON_DEPTH_MAX) throw tooDeep()
  }
}

function linesOf(token: string): number {
  let lines = 0
  for (let at = token.indexOf('\n'); at !== -1; at = token.indexOf('\n', at + 1)) lines++
  return lines
}

/** The token before a plain scalar or a block scalar. */
const SCALAR = '\u001f'

function refuseAbove(cost: number): void {
  if (cost <= YAML_COST_MAX) return
  const counted = `characters, each token counted as ${TOKEN_COST} more and each line as ${LINE_COST}`
  throw tooLarge(`limit for YAML is ${YAML_COST_MAX} ${counted}; send it as JSON, which may be larger`)
}

/**
 * Runs a parser with stack traces disabled. The library creates an error for every problem,
 * although only the first is reported, and capturing the trace takes ten times as long as the rest.
 */
export function withoutTraces<T>(read: () => T): T {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return read()
  } finally {
    Error.stackTraceLimit = before
  }
}
