import type { Clock } from '../../../base/clock.ts'
import { beforeDeadline } from '../../../base/deadline.ts'
import { SealedObjectError } from '../shared/sealed-object-error.ts'
import type { VerbRequest } from './verb.ts'

/** Attempts of one request; an object needs one key, a list may need several. */
const attemptsMax = 8

/**
 * Repeats a request that read an object before a key management service had returned its key. A
 * write reads its objects before it is proposed, so it is repeated only if it changed nothing.
 *
 * @throws ApiError
 * @throws SealedObjectError if the object cannot be decrypted at all, or its key is not known at
 *   the deadline or after the last attempt
 */
export async function onceOpened<T>(
  { clock }: { readonly clock: Clock },
  { context: { deadlineMs } }: Pick<VerbRequest, 'context'>,
  answer: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await answer()
    } catch (cause) {
      if (!(cause instanceof SealedObjectError) || cause.opening === null || attempt === attemptsMax)
        throw cause
      await beforeDeadline(cause.opening, { clock, deadlineMs, late: () => cause })
    }
  }
}
