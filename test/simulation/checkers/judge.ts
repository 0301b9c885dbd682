import type { History } from '../clients/history.ts'
import { checkBounds } from './bounds.ts'
import {
  checkCollectionsDeleted,
  checkCreatedOnce,
  checkEffects,
  checkNoLostUpdate,
  checkUids,
  corruptedKeys,
} from './conditional-writes.ts'
import { checkLinearizable } from './object-history.ts'
import { checkPages } from './pages.ts'
import { checkModes, checkRealTime, checkSessions, storeKey } from './real-time.ts'
import { checkLists, checkServed } from './served-content.ts'
import type { Truth } from './truth.ts'
import {
  checkAtomic,
  checkBookmarks,
  checkExpired,
  checkFiltered,
  checkInitialState,
  checkOrdered,
  checkReliable,
  checkUnique,
} from './watch-guarantees.ts'

/** Checks all claims about responses to clients. @throws Finding the first violation */
export function judge(history: History, truth: Truth): { readonly undecided: number } {
  checkEffects(history, truth)
  checkRealTime(history, truth)
  checkSessions(history, truth)
  checkNoLostUpdate(history, truth)
  checkCreatedOnce(history, truth)
  checkUids(truth, corruptedKeys(history))
  checkCollectionsDeleted(history, truth)
  checkServed(history, truth)
  checkLists(history, truth)
  checkModes(history, truth)
  checkBounds(history, truth)
  checkPages(history, truth)
  checkOrdered(history)
  checkUnique(history)
  checkReliable(history, truth)
  checkFiltered(history, truth)
  checkBookmarks(history, truth)
  checkInitialState(history, truth)
  checkExpired(history)
  checkAtomic(history, truth)
  return checkLinearizable(history, (token) => keyOfToken(truth, token))
}

/** Returns the key, as clients name it, of the object that a write created. */
function keyOfToken(truth: Truth, token: string): string | null {
  for (let revision = 1; revision <= truth.revision; revision++) {
    const version = truth.version(revision)
    if (version?.kind !== 'created' || !version.key.startsWith(storeKey(''))) continue
    const shown = truth.shown(version)
    if (shown.token === token) return shown.key
  }
  return null
}
