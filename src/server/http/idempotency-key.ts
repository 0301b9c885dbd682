import { badRequest } from '../../api/errors/standard-errors.ts'
import type { Verb } from '../../registry/kinds/definition.ts'

const READS: ReadonlySet<Verb> = new Set(['get', 'list', 'watch'])

/** Printable ASCII. A repeated header arrives joined with a comma and a space. */
const KEY = /^[!-~]{1,255}$/

/**
 * Returns the idempotency key of a write; that of a read is ignored.
 *
 * @throws ApiError `BadRequest` for a malformed key
 */
export function idempotencyKeyOf(
  header: string | readonly string[] | undefined,
  verb: Verb,
): { readonly idempotencyKey?: string } {
  if (header === undefined || READS.has(verb)) return {}
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw badRequest('the header Idempotency-Key must be 1 to 255 printable ASCII characters without spaces')
  }
  return { idempotencyKey: header }
}
