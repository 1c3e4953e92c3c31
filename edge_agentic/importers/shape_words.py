"""Words of which synthetic text is made: short and common, so that most vocabularies have each as one token."""

_TEXT = """
able about above account across action active actual after again agent air all almost alone along already also
always amount answer any area around art ask away back bad base basic beach before begin behind below best better
between big bill bit black block blue board body book both box branch bring broad brown build business busy call
camera capital car card care case cat cause cell center central chain chance change character charge check child
choice city claim class clear click client close cloud club coast code cold color common company computer control
cool copy core corner cost count country couple course court cover create cross culture current cut daily dark data
date day deal death deep degree design detail direct distance dog door double down draw dream drive drop dry early
earth east easy edge effect eight else empty end energy engine enough entire entry equal error event ever every
example exit eye face fact fail fair fall family far fast father field fight figure file fill film final find fine
fire first fish five fix flat floor flow focus follow food foot force form forward four frame free fresh friend
front full fund future game garden gas general girl give glass global goal gold good grand great green ground group
growth guide hair half hand happy hard head health heart heat heavy height help here high hold home hope horse hot
hotel hour house human idea image impact index inside interest island issue item join judge just keep key kind king
know labor lake land large last late law lead leader learn leave left legal letter level life light limit line list
little live local long look loss love low machine main major make man map mark market mass match matter measure
media meet member memory message method middle might mind minute mode model modern moment money month more morning
most mother mouth move movie much music name nation nature near need never new news next night nine north note
nothing number object ocean off offer office often oil old once one only open order other out outside over own page
paper parent park part party past path pattern pay peace people person phone photo picture piece place plan plant
play player point police policy poor popular position power present press price print private problem process
product program project public pull push quality question quick race radio rain range rate reach read ready real
reason record red region report rest result rich right ring rise risk river road rock role room rule run safe same
sale sample save scene school science score sea search season seat second section see sell send sense series serve
set seven share ship shop short show side sign simple single six size skin sky small smart snow social soft some
song soon sort sound source south space speed sport spring square staff stage stand star start state station stay
step still stock stone stop store story street strong study style subject success such summer sun sure surface
system table take talk task team ten term test text thing think third three time today together top total touch
town track trade train travel tree trial trip truck true trust try turn two type under union unit until upper use
user value very video view visit voice wait walk wall war watch water way weather week well west white whole why
wide wife wild wind window winter woman wood word work world worth write wrong year yellow yes young
"""

WORDS = tuple(_TEXT.split())
