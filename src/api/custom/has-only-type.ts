import type { Structural } from './structural.ts'

/** Returns whether a schema has no keyword other than its type. @param type the required type */
export function hasOnlyType(node: Structural, type: Structural['type']): boolean {
  const { rules, properties, additional, items } = node
  if (node.type !== type || node.title !== '' || node.description !== '' || node.default !== null)
    return false
  if (properties.size > 0 || additional !== null || items !== null || isMarked(node) || node.nullable)
    return false
  return Object.values(rules).every(
    (rule) => rule === null || rule === '' || rule === false || (Array.isArray(rule) && rule.length === 0),
  )
}

function isMarked(node: Structural): boolean {
  const { preserveUnknown, embedded, intOrString, listType, listMapKeys, mapType, validations } = node
  const isFlagged = preserveUnknown || embedded || intOrString
  return (
    isFlagged || listType !== null || listMapKeys.length > 0 || mapType !== null || validations.length > 0
  )
}
