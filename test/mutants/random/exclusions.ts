import ts from 'typescript'

/**
 * Returns whether no change inside the node can matter to a test: log lines, metrics, the texts of
 * errors, assertions of the program itself, and numbers of limits and durations, whose exact values
 * do not matter.
 */
export function isWithoutEffect(node: ts.Node): boolean {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return true
  if (ts.isTemplateExpression(node)) return isInErrorOrLog(node)
  if (ts.isExpressionStatement(node)) return ts.isCallExpression(node.expression) && reports(node.expression)
  if (ts.isNewExpression(node)) return metricClass.test(node.expression.getText())
  if (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node)) return isTuning(node)
  return false
}

/** Returns whether the call logs, updates a metric, or is an assertion of the program. */
function reports({ expression }: ts.CallExpression): boolean {
  const called = expression.getText()
  return logCall.test(called) || metricCall.test(called) || called === 'assert'
}

const logCall = /(^|[.#])(log|logger)\??\.(trace|debug|info|warn|error|fatal)$/i
const metricCall = /metrics?\b.*\.|\.(observe|inc|setToCurrentTime)$/i
const metricClass = /^(Counter|Gauge|Histogram|Summary)$/

function isInErrorOrLog(node: ts.Node): boolean {
  for (let at = node.parent; !ts.isStatement(at); at = at.parent) {
    if (ts.isNewExpression(at) && /Error$/.test(at.expression.getText())) return true
    if (ts.isCallExpression(at) && reports(at)) return true
    if (at.parent === undefined) return false
    if (ts.isThrowStatement(at.parent)) return true
  }
  return false
}

/** Returns whether the node is a literal value with the name of a limit or a duration. */
function isTuning(node: ts.VariableDeclaration | ts.PropertyAssignment): boolean {
  return tuningName.test(node.name.getText()) && isConstant(node.initializer)
}

const tuningName = /(Ms|Seconds|Minutes|Bytes|Max|Min|Limit|Count|Size|Lines|Days)$/

function isConstant(node: ts.Expression | undefined): boolean {
  if (node === undefined) return false
  if (ts.isNumericLiteral(node)) return true
  return ts.isBinaryExpression(node) && isConstant(node.left) && isConstant(node.right)
}
