import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import type { Json } from '../../api/json.ts'
import { checkPortName } from '../../api/metadata/name-rules.ts'

const PORT_WORDS = 'must be between 1 and 65535, inclusive'

export function checkPortNumber(port: number): readonly string[] {
  return port >= 1 && port <= 65_535 ? [] : [PORT_WORDS]
}

/** Checks a port: a number, or the name of one of the container's ports. */
export function checkPort(port: Json | undefined, field: string, found: Findings): void {
  if (port === undefined) return
  const wrong = typeof port === 'string' ? checkPortName(port) : checkPortNumber(Number(port))
  for (const words of wrong) found.add(invalid(field, port, words))
}
