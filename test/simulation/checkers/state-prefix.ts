import type { MachineState } from '../../../src/store/machine/state.ts'
import { docOf, observedObject } from '../clients/observed-object.ts'
import { Finding } from './finding.ts'
import type { Truth } from './truth.ts'

/**
 * I12: a member's revision follows from its applied index: it never repeats, never goes back, and
 * no restart or snapshot changes it.
 *
 * @throws Finding
 */
export function checkRevision(member: number, state: MachineState, truth: Truth): void {
  const { appliedIndex, revision } = state
  const due = truth.revisionAt(appliedIndex)
  if (due === revision) return
  throw new Finding(
    'I12 revisions',
    `member ${member} is at ${revision} after index ${appliedIndex}, not ${due}`,
  )
}

/**
 * I11: a member's state is the result of a complete prefix of the log: revision, objects and their
 * content belong together, whatever the source of its database.
 *
 * @throws Finding
 */
export function checkPrefix(member: number, state: MachineState, truth: Truth): void {
  checkRevision(member, state, truth)
  const due = truth.list('', state.revision)
  let at = 0
  for (const version of state.objects.list('', null, null).objects) {
    const wanted = due[at++]
    if (wanted?.key !== version.key || wanted.revision !== version.revision) {
      const there = `${version.key} of ${version.revision} instead of ${wanted?.key} of ${wanted?.revision}`
      throw new Finding('I11 prefix', `member ${member} after index ${state.appliedIndex} has ${there}`)
    }
    if (observedObject(docOf(version.bytes)).text !== truth.shown(wanted).text) {
      throw new Finding('I14 content', `member ${member} has another ${version.key} of ${version.revision}`)
    }
  }
  if (at < due.length) {
    throw new Finding(
      'I11 prefix',
      `member ${member} after index ${state.appliedIndex} has no ${due[at]?.key}`,
    )
  }
}
