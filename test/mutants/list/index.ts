import type { Mutant } from '../mutant.ts'
import { consensusMutants } from './consensus.ts'
import { controllerMutants } from './controllers.ts'
import { faultMutants } from './faults.ts'
import { logMutants } from './log.ts'
import { machineMutants } from './machine.ts'
import { memberMutants } from './members.ts'
import { nodeMutants } from './node.ts'
import { leaseMutants } from './leases.ts'
import { readMutants } from './reads.ts'
import { storeMutants } from './store.ts'
import { trustMutants } from './trust.ts'
import { watchMutants } from './watch.ts'

/** All mutants, from the core outwards. */
export const mutants: readonly Mutant[] = [
  ...consensusMutants,
  ...logMutants,
  ...nodeMutants,
  ...memberMutants,
  ...machineMutants,
  ...storeMutants,
  ...readMutants,
  ...leaseMutants,
  ...trustMutants,
  ...watchMutants,
  ...controllerMutants,
  ...faultMutants,
]
