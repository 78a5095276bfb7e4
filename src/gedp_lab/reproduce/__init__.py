"""The paper's tables and figures, computed anew beside what is printed there.

Webb, Protivash, Durrell, Slavković, Kifer, Toth: "Statistics-Friendly Confidentiality Protection for Establishment
Data, with Applications to the QCEW".
"""
