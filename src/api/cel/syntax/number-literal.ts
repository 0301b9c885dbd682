import type { Literal } from './expr.ts'
import type { Token } from './token.ts'
import { SyntaxFault } from './syntax-fault.ts'

type NumberToken = Extract<Token, { kind: 'int' | 'uint' | 'double' }>

/**
 * Reads a number. The sign belongs to it, because -2^63 is an int while 2^63 is not.
 *
 * @throws SyntaxFault if it is out of range
 */
export function numberLiteral({ kind, text, at }: NumberToken, isNegative: boolean): Literal {
  if (kind === 'double') {
    const value = Number(text)
    if (!Number.isFinite(value)) throw new SyntaxFault(at, 'invalid double literal')
    return { type: 'double', value: isNegative ? -value : value }
  }
  const value = isNegative ? -BigInt(text) : BigInt(text)
  const isInRange = kind === 'int' ? value === BigInt.asIntN(64, value) : value === BigInt.asUintN(64, value)
  if (!isInRange) throw new SyntaxFault(at, `invalid ${kind} literal`)
  return { type: kind, value }
}
