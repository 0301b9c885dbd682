import ts from 'typescript'
import { isWithoutEffect } from './exclusions.ts'
import type { Mutation, Operator } from './mutation.ts'

type Change = { readonly operator: Operator; readonly node: Span; readonly replacement: string }
type Span = { getStart(): number; getEnd(): number }

/**
 * Returns every change that the operators can make in a source file, in the order of the text.
 * Places that no test has a reason to look at are left out (`exclusions.ts`).
 *
 * @param file its path from the root
 */
export function mutationsOf(file: string, source: string): readonly Mutation[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ES2023, true)
  const found: Mutation[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || isWithoutEffect(node)) return
    for (const { operator, node: changed, replacement } of changesAt(node)) {
      const start = changed.getStart()
      const line = tree.getLineAndCharacterOfPosition(start).line + 1
      found.push({ operator, file, line, start, end: changed.getEnd(), replacement })
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

function changesAt(node: ts.Node): readonly Change[] {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node))
    return [...negated(node.expression), ...withoutExit(node)]
  if (ts.isConditionalExpression(node)) return negated(node.condition)
  if (ts.isBinaryExpression(node)) return withOtherSign(node)
  if (ts.isNumericLiteral(node)) return oneMore(node)
  if (node.kind === ts.SyntaxKind.TrueKeyword)
    return [{ operator: 'flip boolean', node, replacement: 'false' }]
  if (node.kind === ts.SyntaxKind.FalseKeyword)
    return [{ operator: 'flip boolean', node, replacement: 'true' }]
  if (ts.isExpressionStatement(node)) return withoutCall(node)
  if (ts.isAwaitExpression(node)) return withoutAwait(node)
  if (ts.isArrayLiteralExpression(node)) return withoutElement(node)
  if (ts.isCallExpression(node)) return withSwappedArguments(node)
  return []
}

function negated(condition: ts.Expression): readonly Change[] {
  const text = condition.getText()
  return [{ operator: 'negate condition', node: condition, replacement: `!(${text})` }]
}

/** Removes an `if` without `else` that ends by leaving the function, the loop or the switch. */
function withoutExit(node: ts.IfStatement | ts.WhileStatement): readonly Change[] {
  if (!ts.isIfStatement(node) || node.elseStatement !== undefined) return []
  const { thenStatement: then } = node
  const last = ts.isBlock(then) ? then.statements.at(-1) : then
  if (last === undefined) return []
  const exits =
    ts.isReturnStatement(last) ||
    ts.isThrowStatement(last) ||
    ts.isContinueStatement(last) ||
    ts.isBreakStatement(last)
  return exits ? [{ operator: 'drop early exit', node, replacement: '' }] : []
}

const otherSigns = new Map<ts.SyntaxKind, { readonly operator: Operator; readonly sign: string }>([
  [ts.SyntaxKind.LessThanToken, { operator: 'move boundary', sign: '<=' }],
  [ts.SyntaxKind.LessThanEqualsToken, { operator: 'move boundary', sign: '<' }],
  [ts.SyntaxKind.GreaterThanToken, { operator: 'move boundary', sign: '>=' }],
  [ts.SyntaxKind.GreaterThanEqualsToken, { operator: 'move boundary', sign: '>' }],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, { operator: 'swap equality', sign: '!==' }],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, { operator: 'swap equality', sign: '===' }],
  [ts.SyntaxKind.AmpersandAmpersandToken, { operator: 'swap logic', sign: '||' }],
  [ts.SyntaxKind.BarBarToken, { operator: 'swap logic', sign: '&&' }],
  [ts.SyntaxKind.PlusToken, { operator: 'swap arithmetic', sign: '-' }],
  [ts.SyntaxKind.MinusToken, { operator: 'swap arithmetic', sign: '+' }],
  [ts.SyntaxKind.PlusEqualsToken, { operator: 'swap arithmetic', sign: '-=' }],
  [ts.SyntaxKind.MinusEqualsToken, { operator: 'swap arithmetic', sign: '+=' }],
])

function withOtherSign(node: ts.BinaryExpression): readonly Change[] {
  const { left, operatorToken, right } = node
  if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
    return [{ operator: 'drop default', node, replacement: left.getText() }]
  const other = otherSigns.get(operatorToken.kind)
  if (other === undefined) return []
  // In parentheses, because the other operator has another precedence.
  const grouped =
    other.operator === 'swap logic' ? `(${left.getText()} ${other.sign} ${right.getText()})` : ''
  if (grouped !== '') return [{ operator: other.operator, node, replacement: grouped }]
  return [{ operator: other.operator, node: operatorToken, replacement: other.sign }]
}

/** Large numbers are limits and durations; nothing depends on their exact value. */
function oneMore(node: ts.NumericLiteral): readonly Change[] {
  const value = Number(node.text)
  if (!Number.isSafeInteger(value) || value >= 1000) return []
  return [{ operator: 'add one', node, replacement: String(value + 1) }]
}

function withoutCall(node: ts.ExpressionStatement): readonly Change[] {
  const { expression } = node
  const called = ts.isAwaitExpression(expression) ? expression.expression : expression
  if (!ts.isCallExpression(called) || called.expression.kind === ts.SyntaxKind.SuperKeyword) return []
  return [{ operator: 'drop call', node, replacement: ';' }]
}

/** Only where nothing uses the result; other places would seldom type-check. */
function withoutAwait(node: ts.AwaitExpression): readonly Change[] {
  if (!ts.isExpressionStatement(node.parent)) return []
  return [{ operator: 'drop await', node, replacement: node.expression.getText() }]
}

function withoutElement(node: ts.ArrayLiteralExpression): readonly Change[] {
  const [first, ...rest] = node.elements
  if (first === undefined) return []
  const replacement = `[${rest.map((element) => element.getText()).join(', ')}]`
  return [{ operator: 'drop element', node, replacement }]
}

function withSwappedArguments(node: ts.CallExpression): readonly Change[] {
  const [first, second] = node.arguments
  if (first === undefined || second === undefined || first.getText() === second.getText()) return []
  // The help text of a metric.
  if (ts.isStringLiteral(second) && second.text.endsWith('.')) return []
  const span = { getStart: () => first.getStart(), getEnd: () => second.getEnd() }
  const replacement = `${second.getText()}, ${first.getText()}`
  return [{ operator: 'swap arguments', node: span, replacement }]
}
