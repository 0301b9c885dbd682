/** A query or path parameter. @source spec 4.2 */
export type Parameter = {
  readonly name: string
  readonly in: 'query' | 'path'
  readonly type: 'string' | 'integer' | 'boolean'
  readonly description: string
  readonly required?: true
}

export const pretty = query('pretty', 'string', "If 'true', then the output is pretty printed.")

export const namespace: Parameter = {
  ...{ name: 'namespace', in: 'path', type: 'string', required: true },
  description: 'The namespace the object is in.',
}

export function nameOf(kind: string): Parameter {
  return { name: 'name', in: 'path', type: 'string', required: true, description: `name of the ${kind}` }
}

const dryRun = query('dryRun', 'string', 'All: everything is done but nothing is stored.')
const fieldManager = query(
  'fieldManager',
  'string',
  'Who makes the change; at most 128 printable characters.',
)
const fieldValidation = query(
  'fieldValidation',
  'string',
  'What to do about unknown or repeated members: Ignore, Warn (the default) or Strict.',
)
const resourceVersion = query('resourceVersion', 'string', 'Which versions may be answered with.')

export const read: readonly Parameter[] = [resourceVersion]
export const write: readonly Parameter[] = [dryRun, fieldManager, fieldValidation]
export const patch: readonly Parameter[] = [
  ...write,
  query('force', 'boolean', 'An apply takes fields over that others own.'),
]

export const remove: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'Time to end in good order; 0 is at once.'),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'What becomes of dependents: Orphan, Background or Foreground.'),
]

export const list: readonly Parameter[] = [
  query('continue', 'string', 'The token that the previous part of the list ended with.'),
  query('fieldSelector', 'string', 'Selects objects by their fields.'),
  query('labelSelector', 'string', 'Selects objects by their labels.'),
  query('limit', 'integer', 'How many objects to answer with at most.'),
  resourceVersion,
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  query('sendInitialEvents', 'boolean', 'A watch begins with what is there, and says when that is done.'),
  query('timeoutSeconds', 'integer', 'Ends the call after this time.'),
]

export const listOrWatch: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'A watch may send BOOKMARK events.'),
  ...list,
  query('watch', 'boolean', 'Answers with the changes as they happen.'),
]

function query(name: string, type: Parameter['type'], description: string): Parameter {
  return { name, in: 'query', type, description }
}
